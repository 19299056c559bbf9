"""
Starting the attack
===================

``python -m trials.attack``; see `campaign`.
"""

import sys

from trials.attack.campaign import main

if __name__ == "__main__":
    sys.exit(main())
