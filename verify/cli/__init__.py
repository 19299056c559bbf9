"""
The command line
================

`soundline COMMAND`; one module for each command.

In order: `main`, `spork_tables`, `spork`, `results`, `explain`, `bench`, `check`, `compile`, `run`, `verify`.
Doors: none.
"""
