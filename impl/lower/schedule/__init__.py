"""
Schedules
=========

OptOps on the CPU: the steps that it has besides, those that it cannot do, how all are applied, vectors, tiles, threads,
and the heuristics that choose.

In order: `target`, `kernels`, `extensions`, `legality`, `schedules`, `vectors`, `any_reductions`, `applying`,
`threads`, `common_subexpressions`, `tile_choice`, `tiles`, `heuristics`, `rows`.
Doors: `any_reductions`, `applying`, `common_subexpressions`, `extensions`, `heuristics`, `rows`, `schedules`, `target`,
`tiles`, `vectors`.
"""
