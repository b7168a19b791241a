"""Frozen values that several layers share; this package imports no layer above it."""
