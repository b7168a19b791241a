"""Explains what a number means: one run under several libraries' conventions, worked examples, and population
counts.
"""
