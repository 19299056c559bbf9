"""
Barriers of a device function
=============================

What a device function does with barriers, which mbarriers it needs for that and where they lie, and which CTAs of a
cluster an arrive reaches. The text of all this is written by `impl.codegen.cuda.synchronization`.

In order: `targets`, `uses`, `rings`.
Doors: `rings`, `targets`, `uses`.
"""
