"""
Rewriting
=========

The engine that applies rules until none applies.

In order: `applications`, `shortcuts`, `engine`.
Doors: `applications`, `engine`.
"""
