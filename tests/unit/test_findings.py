"""Each finding's program shows what it says: exact expected results, so that a changed law or evaluator is noticed."""

from __future__ import annotations

import pytest

from soundline.spec.decisions.table import DECISIONS
from soundline.verify.findings.tensors import FINDINGS, broadcast_of_the_source, show

EXPECTED = {
    "CmpGe, by CmpNe(CmpLt(A, B), 1)": [("True", "False")],
    "CmpLe, by CmpNe(CmpLt(B, A), 1)": [("True", "False")],
    "Div, by Mul(A, Recip(B))": [
        ("1.6666667461395264", "1.6666666269302368"),
        ("inf", "1.0"),
        ("1.671875", "1.6640625"),
    ],
    "Pow, by Exp2(Log2(A)·B)": [
        ("nan", "-8.0"),
        ("9.999958593649613e+29", "1.0000000150474662e+30"),
    ],
    "broadcast, by the maximum of the sizes": [("shape (1,)", "shape (0,)")],
    "Bitcast, by src[0].shape": [("shape (2,)", "shape (1,)")],
    "broadcast as listed, commented (s,)": [("shape (1, 3)", "shape (3,)")],
    "device, by src[0].device": [("None", "CPU")],
    "gather, by the product with a one-hot mask": [("(nan,)", "(1.0,)")],
    "scatter_add, by the product with a one-hot mask": [("(nan, nan)", "(2.0, 2.0)")],
    "prefix_sum, by windows filled with 0": [("(0.0, -0.0)", "(-0.0, -0.0)")],
    "prefix_sum and arange, by n-1 zeros before": [("ill formed: uop-pad-c2", "shape (0,)")],
    "arange, by a sum of ones in its dtype": [("element 17: 15.0", "element 17: 16.0")],
    "axis of Flip, by the default null": [
        ("axis null: each device holds (2, 1, 4, 3)", "axis 0: the devices hold (2, 1) and (4, 3)")
    ],
    "Buffer, by (size,)": [("shape (4,)", "shape (8,)")],
    "min_max of Add, by [a+b, A+B]": [("[200, 200]; value -56", "[-128, 127]; value -56")],
    "min_max of Mul, by the products": [("[256, 256]; value 0", "[-128, 127]; value 0")],
    "min_max of Pad, by src[0]": [("[5, 7]; value (0, 5, 7, 0)", "[0, 7]; value (0, 5, 7, 0)")],
    "min_max of Stack, by src[0]": [("[1, 1]; value (1, 9)", "[1, 9]; value (1, 9)")],
    "min_max of Cast, clamped to the dtype": [("[127, 127]; value 44", "[-128, 127]; value 44")],
    "min_max of Add, without NaN": [
        ("[-inf, inf]; value (0.0, nan)", "[-inf, inf] or NaN; value (0.0, nan)"),
    ],
    "min_max of Mul, without NaN": [
        ("[0.0, inf]; value (nan, 2.0)", "[-inf, inf] or NaN; value (nan, 2.0)"),
    ],
    "reducing where both ends are equal as numbers": [("-inf", "inf")],
    "min_max of Range, by [0, n-1]": [("[0, -1]", "the empty interval")],
    "Arrive and Await, with their sides swapped": [("mach-read-raw", "no hazards")],
    "the hazard of a write, called RAW": [("mach-read-raw", "mach-write-war")],
    "one record for all threads of an access": [("no hazards", "mach-read-raw")],
    "Await with N < 0, counting from one": [
        ("waits for arrive 1, of 1: for ever", "waits for arrive 0, of 1")
    ],
    "an ordinary fence between registers and wgmma": [("no hazards", "mach-write-war")],
    "a ring of mbarriers without a reverse side": [
        ("no hazards; 1 outcome of 2 is a deadlock", "mach-arrive-overrun")
    ],
    "a queue that is known by its index alone": [
        (
            "no hazards; 2 outcomes of 3 are wrong",
            "bar-group-owner: indices (2, 1) threads apart in one, (1, 2) in another",
        )
    ],
}


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda f: f.decision)
def test_the_source_and_the_law_differ(finding) -> None:
    shown = show(finding)
    assert shown.by_the_source != shown.by_the_law


@pytest.mark.parametrize("title", EXPECTED)
def test_a_finding_shows_exactly_this(title: str) -> None:
    shown = [show(f) for f in FINDINGS]
    assert [(s.by_the_source, s.by_the_law) for s in shown if s.title == title] == EXPECTED[title]


def test_the_root_by_logarithm_is_wrong_in_the_last_places() -> None:
    (shown,) = [show(f) for f in FINDINGS if show(f).title.startswith("Sqrt")]
    source, law = float(shown.by_the_source), float(shown.by_the_law)
    assert law == pytest.approx(12.0**0.5, rel=2**-24)
    assert source != law
    assert source == pytest.approx(law, rel=1e-5)


def test_every_finding_has_a_program() -> None:
    shown = {f.decision for f in FINDINGS}
    assert {d.id for d in DECISIONS.values() if d.is_finding} <= shown
    assert shown <= set(DECISIONS)


@pytest.mark.parametrize(
    ("left", "right", "shape"), [((2, 1), (3,), (2, 3)), ((), (4,), (4,)), ((0,), (1,), (1,))]
)
def test_the_shape_rule_of_the_source_is_quoted_right(left, right, shape) -> None:
    assert broadcast_of_the_source(left, right) == shape
