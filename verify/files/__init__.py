"""
Rule files
==========

Finding rule files, reading them, and saying what is wrong with them.

In order: `problems`, `finding`, `syntax`, `blame`, `loader`.
Doors: `finding`, `loader`, `problems`.
"""
