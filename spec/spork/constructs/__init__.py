"""
The table of constructs
=======================

One entry for each construct of the language: its form, its meaning, its laws and an example.

In order: `schema`, `device`, `programs`, `synchronization`, `table`.
Doors: `schema`, `table`.
"""
