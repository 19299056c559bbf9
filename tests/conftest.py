"""Long tests that shorter ones stand for are left to `make test-rest`: `long_tests.txt` lists their ids."""

from __future__ import annotations

from pathlib import Path

import pytest

LONG = Path(__file__).with_name("long_tests.txt")


def listed() -> set[str]:
    """The ids of long tests."""
    return set(LONG.read_text().splitlines())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the long tests; refuse a run of whole files in which a listed one is missing."""
    long = listed()
    for item in items:
        if item.nodeid in long:
            item.add_marker(pytest.mark.thorough)
    if not any("::" in argument for argument in config.args):
        found = {item.nodeid for item in items}
        files = {identifier.partition("::")[0] for identifier in found}
        lost = sorted(i for i in long - found if i.partition("::")[0] in files)
        if lost:
            raise pytest.UsageError(f"{LONG.name} names tests that do not exist: {', '.join(lost)}")
