"""
Attack
======

Random rules against the prover: what it calls proved is evaluated by the law on random inputs, at ranks and sizes that
no proof looks at one by one. ``python -m trials.attack`` goes on for as long as it may.
"""
