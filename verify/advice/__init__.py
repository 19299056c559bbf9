"""
Advice
======

What the court says about a rule's conditions: those that are missing, those that ask for more than the rule needs, the
rules that others make superfluous, and the sets of rules with which rewriting may not terminate. Whatever is proposed
has been proved by the ordinary prover before it is shown.

In order: `results`, `text`, `search`, `one_way`, `shape_points`, `table`, `grammar`, `loops`, `measures`,
`implication`, `subsumption`, `termination`, `conventions`, `weakest`, `strength`, `advising`, `serving`.
Doors: `advising`, `results`, `serving`, `text`.
"""
