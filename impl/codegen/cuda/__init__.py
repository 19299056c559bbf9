"""
CUDA C++
========

From Spork to CUDA C++: the text of device functions, statement by statement as the program is written.

In order: `dialects`, `names`, `operators`, `arithmetic`, `expressions`, `writing`, `operands`, `memories`, `refusals`,
`threads`, `windows`, `calls`, `synchronization`, `library`, `storage`, `statements`, `outside`, `standard`,
`device`, `source`, `files`.
Doors: `device`, `dialects`, `expressions`, `files`, `library`, `memories`, `names`, `operands`, `source`,
`synchronization`, `writing`.
"""
