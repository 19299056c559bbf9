"""
CUDA C++
========

From Spork to CUDA C++: the text of device functions, statement by statement as the program is written. Here is what all
of it stands on; the instructions, barriers and the part of the CPU are folders of their own, and `programs` puts
everything together.

In order: `dialects`, `names`, `operators`, `arithmetic`, `expressions`, `writing`, `operands`, `memories`, `refusals`,
`threads`, `windows`, `calls`, `library`, `storage`, `statements`, `outside`, `kernels`, `source`.
Doors: `dialects`, `expressions`, `kernels`, `library`, `memories`, `names`, `operands`, `operators`, `outside`,
`refusals`, `source`, `statements`, `storage`, `windows`, `writing`.
"""
