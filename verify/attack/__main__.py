"""Run the campaign: ``python -m soundline.verify.attack``."""

import sys

from soundline.verify.attack.campaign import main

sys.exit(main())
