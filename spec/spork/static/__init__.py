"""
Static checks
=============

What a program must satisfy before it runs: uses of memory and barriers, windows, shards, sizes and calls.

In order: `sizes`, `windows`, `scope`, `conditions`, `barriers`, `memory`, `pairing`, `calls`, `queues`, `shards`,
`trailing`, `law`.
Doors: `calls`, `conditions`, `law`, `memory`, `scope`, `sizes`, `windows`.
"""
