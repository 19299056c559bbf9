"""
Synchronization
===============

Timelines, fences, split barriers, and when a write becomes visible.

In order: `timelines`, `fences`, `barriers`, `visibility`, `rings`.
Doors: `barriers`, `fences`, `rings`, `timelines`, `visibility`.
"""
