"""
soundline
=========

The public API. This module alone may import `spec`, `impl` and `verify` together: it plugs the court
(`verify`) into the road (`impl`), and everything else keeps to `spec` <- `impl` <- `verify`.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
