"""
Inspection
==========

Pictures, listings, explanations and profiles of programs.

In order: `graphs`, `machine_growth`, `machine`, `texts`, `listings`, `stages`, `notebooks`, `peaks`, `kernels`,
`profile`, `explanation`.
Doors: `explanation`, `graphs`, `listings`, `notebooks`, `peaks`, `profile`, `stages`.
"""
