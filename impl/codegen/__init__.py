"""Renderers: linear UOps to source text."""
