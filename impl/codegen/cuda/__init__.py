"""
CUDA C++
========

From Spork to CUDA C++: the text of device functions, statement by statement as the program is written.

In order: `dialects`, `names`, `operators`, `arithmetic`, `expressions`, `writing`, `operands`,
`synchronization`, `device`.
Doors: `device`, `expressions`, `names`, `operands`, `synchronization`, `writing`.
"""
