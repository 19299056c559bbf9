"""
Barriers of a device function
=============================

What a device function does with barriers, which mbarriers it needs for that and where they lie, and which CTAs of a
cluster an arrive reaches; and the text of all this.

In order: `targets`, `uses`, `rings`, `synchronization`.
Doors: `synchronization`.
"""
