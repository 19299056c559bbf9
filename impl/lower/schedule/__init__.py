"""
Schedules
=========

OptOps on the CPU: the steps that it has besides, those that it cannot do, how all are applied, vectors, tiles, threads,
and the heuristics that choose.

In order: `target`, `kernels`, `extensions`, `legality`, `schedules`, `vector_types`, `vectors`, `any_reductions`,
`applying`, `threads`, `common_subexpressions`, `tile_choice`, `tiles`, `heuristics`, `rows`, `size_loops`, `transfers`,
`forms`.
Doors: `any_reductions`, `applying`, `common_subexpressions`, `extensions`, `forms`, `heuristics`, `rows`, `schedules`,
`size_loops`, `target`, `tiles`, `transfers`, `vector_types`, `vectors`.
"""
