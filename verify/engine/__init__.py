"""
Validation of the engine
========================

What the rewrite engine did to real graphs, each step proved again.

In order: `elements`, `views`, `inputs`, `random_graphs`, `blame`, `applications`, `evidence`, `corpus`, `watching`,
`campaign`, `report`, `cli`.
Doors: `cli`.
"""
