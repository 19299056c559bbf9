"""
The prover
==========

Z3. `goals` says what is asked, `integers` and `values` how scalars are translated, `elements` what tensors denote,
`reductions` when two reductions are equal, `proving` and `ranks` decide, `counterexamples` finds the smallest wrong
input.

In order: `tensors`.
Doors: `tensors`.
"""
