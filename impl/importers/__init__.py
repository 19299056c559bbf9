"""
Importers
=========

Programs from elsewhere, as tensor programs.

In order: `tinygrad_nodes`, `tinygrad`, `operators`, `onnx`.
Doors: `onnx`.
"""
