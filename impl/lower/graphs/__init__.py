"""
Graphs
======

What several stages do to a graph: views, scalars, loops, calls, placement, costs, simplification.

In order: `calls`, `effects`, `rebuilding`, `size_arguments`, `size_obligations`, `obligations`, `scalars`, `views`,
`costs`, `loops`, `repeated`, `placement`, `simplify`, `approximate`, `single_rule`.
Doors: `approximate`, `calls`, `costs`, `effects`, `loops`, `obligations`, `placement`, `rebuilding`, `repeated`,
`scalars`, `simplify`, `single_rule`, `size_arguments`, `size_obligations`, `views`.
"""
