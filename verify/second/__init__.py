"""
Second opinions
===============

Other programs than those that reach a verdict, asked about the same thing: compiled C about counterexamples, every
operand of few bits, a directed search in floats, other solvers, and Presburger sets. Neither the prover nor a second
opinion overrules the other: a contradiction is a mistake in soundline, and is reported as one.

In order: `solvers`, `isl_planes`, `presburger_questions`, `presburger`, `bijections`, `batches`, `asked`, `floats`,
`presburger_opinion`, `shapes`, `solving`, `operands`, `opinions`, `compiled`.
Doors: `opinions`.
"""
