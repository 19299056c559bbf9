"""
The lowering pipeline
=====================

The stages of lowering, and for each stage what a program after it must satisfy.

In order: `schema`, `programs`, `instructions`, `stages`.
Doors: `stages`.
"""
