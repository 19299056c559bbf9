"""
Decisions
=========

How each gap and contradiction of the two sources is resolved.

In order: `schema`, `spork`, `structure`, `values`, `table`.
Doors: `table`.
"""
