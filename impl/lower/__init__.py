"""
Lowering
========

One module for each stage of the pipeline, under its name. The tools of the stages stand in `graphs`, `reductions`,
`linear` and `schedule`.

In order: `callify`, `steps`, `instructions`, `premises`, `rangeify`, `select`, `optimize`.
Doors: `callify`, `optimize`, `premises`, `rangeify`, `select`, `steps`.
"""
