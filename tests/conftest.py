"""What all tests have in common: the tests themselves are there until the end, so that nobody need look for them."""

import gc


def pytest_collection_finish() -> None:
    """Let the collector of cycles pass over some hundred thousand objects that stay, each time it looks through all."""
    gc.collect()
    gc.freeze()
