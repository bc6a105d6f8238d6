"""An app that brings the kinds of job of tests/support/kinds.py into real workers."""
