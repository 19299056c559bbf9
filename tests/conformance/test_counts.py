"""The numbers in the README of this folder are those of the suites."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import test_ml_dtypes
import test_onnx
import test_onnx_models
import test_softfloat
import test_threefry

SUITES = [test_softfloat, test_ml_dtypes, test_threefry, test_onnx, test_onnx_models]


@pytest.mark.parametrize("suite", SUITES, ids=lambda s: s.__name__)
def test_the_readme_states_the_counts(suite) -> None:  # type: ignore[no-untyped-def]
    text = (Path(__file__).parent / "README.md").read_text()
    stated = re.search(rf"\| `{suite.__name__}\.py` \| (\d+) \| (\d+) \|", text)
    assert stated is not None
    assert tuple(map(int, stated.groups())) == suite.counts()
