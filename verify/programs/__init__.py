"""
Programs from files
===================

Tensor programs that a user names on the command line: their inputs, and checks of their stages.

In order: `inputs`, `texts`, `replaying`, `stage_checks`, `loading`.
Doors: `inputs`, `loading`, `replaying`, `stage_checks`.
"""
