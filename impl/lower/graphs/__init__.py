"""
Graphs
======

What several stages do to a graph: views, scalars, loops, calls, placement, costs, simplification.

In order: `calls`, `effects`, `rebuilding`, `size_arguments`, `size_obligations`, `obligations`, `scalars`, `outputs`,
`views`, `costs`, `readings`, `loops`, `repeated`, `placement`, `simplify`, `approximate`, `single_rule`.
Doors: `approximate`, `calls`, `costs`, `effects`, `loops`, `obligations`, `outputs`, `placement`, `readings`,
`rebuilding`, `repeated`, `scalars`, `simplify`, `single_rule`, `size_arguments`, `size_obligations`, `views`.
"""
