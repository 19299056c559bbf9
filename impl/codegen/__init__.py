"""
Renderers
=========

Linear UOps to source text.
"""
