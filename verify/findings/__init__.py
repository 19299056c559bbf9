"""
Findings
========

Errors in the two sources that checks have found, each computed anew.

In order: `instructions`, `spork`, `tensors`.
Doors: `tensors`.
"""
