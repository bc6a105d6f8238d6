"""Addresses of the memory pages, one file for each part; memories/urls.py puts them together."""
