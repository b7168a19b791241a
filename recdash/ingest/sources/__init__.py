"""Fetches tables that are elsewhere (in a database, an object store, on the web) into a file on this disk."""
