"""
Starting the attack
===================

``python -m soundline.verify.attack``; see `campaign`.
"""

import sys

from soundline.verify.attack.campaign import main

if __name__ == "__main__":
    sys.exit(main())
