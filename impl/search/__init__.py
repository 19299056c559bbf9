"""
Search
======

BEAM: what a search tries, and how candidates are measured.

In order: `enabling`, `steps`, `trials`, `beam`, `worker`.
Doors: `beam`, `enabling`.
"""
