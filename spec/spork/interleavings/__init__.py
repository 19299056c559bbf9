"""
Interleavings
=============

Every order in which the threads of a program can take turns, and which of these orders have to be tried.

In order: `queues`, `jobs`, `values`, `registers`, `threads`, `state`, `memory`, `search`.
Doors: `memory`, `search`, `state`, `threads`, `values`.
"""
