"""
The command line
================

`soundline COMMAND`; one module for each command.

In order: `main`, `spork_tables`, `spork`, `results`, `explain`, `bench`, `machines`, `check`, `cuda`, `compile`, `run`,
`verify`.
Doors: none.
"""
