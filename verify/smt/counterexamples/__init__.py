"""
Counterexamples
===============

The smallest input on which a rule is wrong, replayed by the evaluator and written as a test.

In order: `gather_inputs`, `reduction_inputs`, `closing`, `replays`, `exhaustive`, `first_inputs`, `python_text`,
`scalars`, `sizes`, `demands`, `tensors`, `minimal`.
Doors: `demands`, `exhaustive`, `first_inputs`, `minimal`, `python_text`, `replays`, `scalars`, `sizes`, `tensors`.
"""
