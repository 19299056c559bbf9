"""Trials of the fast checker."""
