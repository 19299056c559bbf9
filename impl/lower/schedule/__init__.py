"""
Schedules
=========

OptOps on the CPU: which steps are legal, how they are applied, vectors, tiles, threads, and the heuristics that choose.

In order: `target`, `schedules`, `legality`, `vectors`, `any_reductions`, `applying`, `threads`,
`common_subexpressions`, `tile_choice`, `tiles`, `heuristics`, `rows`.
Doors: `any_reductions`, `applying`, `common_subexpressions`, `heuristics`, `rows`, `schedules`, `target`, `tiles`,
`vectors`.
"""
