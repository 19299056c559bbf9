"""
C
=

The renderer of C: expressions, masks, lanes, vectors, streams, and the points at which a kernel can be stopped.

In order: `helpers`, `expressions`, `kernel`, `interruption`, `vector_helpers`, `masks`, `streams`, `transpositions`,
`lanes`, `vectors`, `renderer`, `target`.
Doors: `expressions`, `helpers`, `interruption`, `renderer`, `target`.
"""
