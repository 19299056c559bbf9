"""
The law of soundline
====================

The executable specification: what every op means, which nodes are well formed, and how rewrites are stated. It is
written to be read: one obvious definition per op, no cache, no cleverness.
"""

from soundline.spec import uop as uop  # joins the laws to the constructor of nodes
