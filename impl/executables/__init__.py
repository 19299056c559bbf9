"""
Executables
===========

Programs over storage, as they are built, loaded, run and pickled; tensors are computed by them.

In order: `pytrees`, `signatures`, `foreign`, `assembly`, `command_buffer`, `building`, `pickling`.
Doors: `assembly`, `building`, `command_buffer`, `foreign`, `pickling`, `pytrees`, `signatures`.
"""
