"""
Rewriting
=========

The engine that applies rules until none applies.

In order: `applications`, `engine`.
Doors: `applications`, `engine`.
"""
