"""``soundline`` and ``python -m soundline``."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; returns its exit code."""
    from soundline.verify.cli.main import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
