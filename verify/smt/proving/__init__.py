"""
Proving
=======

Deciding scalar goals, and single instances of rules about shapes.

In order: `strategies`, `scalars`, `comparison`, `digit_products`, `leaves`, `instances`.
Doors: `instances`, `leaves`, `scalars`.
"""
