"""Backups that do not depend on the database engine: JSON lines per table and the files beside them."""
