"""
Readings
========

A program read sequentially and read in parallel; where the machine finds no hazard the two agree.

In order: `sequential`, `parallel`.
Doors: `parallel`, `sequential`.
"""
