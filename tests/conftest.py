"""How tests run: what they build is mostly needed until they end, so the collector of cycles looks through it rarely.

A fifth of the time of the abstract machine's tests went into that.
"""

import gc

gc.set_threshold(50_000, 20, 10)
