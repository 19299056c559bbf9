"""Threefry-2x32-20 against the known answers of Random123, which are the law (U-12)."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from soundline.impl.arrays.storage import keep
from soundline.impl.executables.building import computed
from soundline.spec.dtypes import uint64
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.table import Op
from soundline.spec.uop import param
from soundline.spec.values.elementwise import scalar

sys.path.insert(0, str(Path(__file__).parent))
from float_cases import Counts

KNOWN = [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]
"""Counter, key and answer of the vectors for 20 rounds, each as two words in the order of the library's text."""


def word(pair: tuple[int, int]) -> int:
    """Two words as one uint64, the first in the low half."""
    return pair[0] | pair[1] << 32


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_the_known_answers(counter: tuple[int, int], key: tuple[int, int], answer: tuple[int, int]) -> None:
    assert scalar(Op.Threefry, uint64, word(counter), word(key)) == word(answer)
    assert (
        scalar(Op.Threefry, uint64, word(counter[::-1]), word(key)) != word(answer)
        or counter[0] == counter[1]
    )


def test_the_known_answers_of_arrays_evaluated_and_compiled() -> None:
    counters, keys, answers = (np.array([word(row[k]) for row in KNOWN], dtype=np.uint64) for k in range(3))
    node = Op.Threefry(param(0, uint64, (3,)), param(1, uint64, (3,)))
    assert list(evaluate(node, {0: counters, 1: keys}).elements) == answers.tolist()
    (found,) = computed([Op.Threefry(keep(counters), keep(keys))])
    assert found.tolist() == answers.tolist()


def counts() -> Counts:
    """The vectors."""
    return Counts(len(KNOWN), 0)
