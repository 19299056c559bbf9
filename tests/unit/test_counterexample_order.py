"""One order of counterexamples: none that can be tried is smaller, and every test that is shown runs."""

import importlib
import math
import sys
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import bool_, float8_e4m3fn, float8_e5m2
from soundline.spec.rules.instances import Goal, goals
from soundline.spec.rules.language import Rule
from soundline.verify import (
    Bool,
    Const,
    Flags,
    Interval,
    Offset,
    Shape,
    Size,
    Tensor,
    Value,
    float32,
    given,
    index,
    int8,
    int32,
    int64,
    maximum,
    minimum,
    rule,
    uint8,
    uint32,
    where,
)
from soundline.verify.judging.judge import prove, prove_layer
from soundline.verify.smt.counterexamples import sizes as counterexamples_sizes
from soundline.verify.smt.counterexamples import tensors as counterexamples_tensors
from soundline.verify.smt.counterexamples.exhaustive import elements
from soundline.verify.smt.counterexamples.replays import concrete, number, replay, sizes
from soundline.verify.smt.goals.obligations import obligation_of
from soundline.verify.smt.goals.order import counted, elements_key, largest_first, simplicity, sizes_key
from soundline.verify.smt.goals.points import FAILS, Points
from soundline.verify.smt.goals.sampling import rank
from soundline.verify.verdicts.verdict import Counterexample, Difference

# the order --------------------------------------------------------------------------------------------------------


def test_numbers_are_ordered_by_magnitude() -> None:
    assert sorted(range(-3, 4), key=lambda n: simplicity(int8, n)) == [0, 1, -1, 2, -2, 3, -3]
    plain = [0.0, 1.0, -1.0, 2.0, 64.0, 0.5, 0.75, -0.0, math.inf, -math.inf, math.nan, 0.1]
    mixed = plain[::-1]
    mixed.sort(key=lambda x: simplicity(float32, x))
    assert [*map(repr, mixed)] == [*map(repr, plain)]


def test_sizes_come_before_offsets_and_the_empty_last() -> None:
    keys = [
        sizes_key([1, 1], [0]),
        sizes_key([1, 1], [1]),
        sizes_key([1, 1], [-1]),
        sizes_key([1, 2], [0]),
        sizes_key([2, 1], [0]),
        sizes_key([1, 3], [0]),
        sizes_key([0, 0], [0]),
        sizes_key([0, 1], [0]),
    ]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


def test_elements_that_count_come_first_and_then_the_largest_decides() -> None:
    def key(*values: int) -> Any:
        return elements_key([(int32, v) for v in values])

    keys = [
        key(1, 2, 3),
        key(0, 0, 0),
        key(0, 0, 1),
        key(0, 1, 0),
        key(1, 0, 0),
        key(1, 1, 1),
        key(0, -1, 0),
        key(2, 0, 0),
    ]
    assert keys == sorted(keys)
    assert [counted(bool_, k) for k in (1, 2, 3)] == [True, False, True]
    assert largest_first([]) == ((), ())


# scalars: all points ----------------------------------------------------------------------------------------------


@rule(dtypes=[int8, uint8])
def sum_wrong(x: Value, y: Value):
    return maximum(x, y) + x, x + x


@rule(dtypes=[int8, uint8])
def const_wrong(x: Value, c: Const):
    given(c > 2)
    return (x * c) // c, x


@rule(dtypes=[int8])
def far_wrong(x: Value):
    return where(x * x == 121, x + 1, x), x


@rule(dtypes=[int8])
def clamped_wrong(x: Interval):
    given(x.lo >= 3)
    return maximum(x, x.lo + 2), x


@rule(dtypes=[float8_e4m3fn, float8_e5m2])
def halved_wrong(x: Value):
    return (x / 2) * 2, x


@rule(dtypes=[float8_e5m2])
def zero_wrong(x: Value, y: Value):
    return (x - y) + y, x


@rule
def logic_wrong(p: Bool, q: Bool):
    return p | q, p ^ q


SCALARS = (sum_wrong, const_wrong, far_wrong, clamped_wrong, halved_wrong, zero_wrong, logic_wrong)


@pytest.mark.parametrize(
    ("stated", "dtype"),
    [
        pytest.param(s, d, id=f"{s.id} {d}")
        for s in SCALARS
        for d in (s.dtypes or (bool_,))
        if s is not clamped_wrong
    ],
)
def test_of_all_points_of_few_bits_the_smallest_is_shown(stated: Rule, dtype: Any) -> None:
    obligation = obligation_of(next(goals(stated, dtype)))
    trial = Points(obligation)
    every = product(*(elements(v.dtype) for v in obligation.variables.values()))
    least = min((p for p in every if trial.at(p) == FAILS), key=lambda p: rank(obligation, p))
    shown = prove_layer(stated, dtype).counterexample
    assert shown is not None
    assert [text for _, text in shown.bindings] == [repr(v) for v in least]


@pytest.mark.parametrize("dtype", [int32, index], ids=str)
@pytest.mark.parametrize("name", ["sum_wrong", "const_box", "clamped", "three"])
def test_no_smaller_whole_point_exists_in_a_box(name: str, dtype: Any) -> None:
    @rule(dtypes=[dtype])
    def const_box(x: Value, c: Const):
        given(c > 2)
        return (x // c) * c, x

    @rule(dtypes=[dtype])
    def clamped(x: Interval):
        given(x.lo >= 3)
        return maximum(x, x.lo + 2), x

    @rule(dtypes=[dtype])
    def three(x: Value, y: Value, z: Value):
        given(x > y, y > z)
        return maximum(x - 3, z), x - 3

    @rule(dtypes=[dtype])
    def sum_wrong(x: Value, y: Value):
        return maximum(x, y) + x, x + x

    stated = {r.id: r for r in (const_box, clamped, three, sum_wrong)}[name]
    obligation = obligation_of(next(goals(stated, dtype)))
    trial = Points(obligation)
    box = product(range(-7, 8), repeat=len(obligation.variables))
    least = min((p for p in box if trial.at(p) == FAILS), key=lambda p: rank(obligation, p))
    shown = prove_layer(stated, dtype).counterexample
    assert shown is not None
    assert [text for _, text in shown.bindings] == [repr(v) for v in least]


KINDS = {"x": Value, "y": Value, "c": Const, "n": Size}
CONJUNCTIONS = (  # kinds by their names, dtype, conditions, sides
    ("xnc", index, "c * x == 12", "maximum(c, n)", "c"),
    ("cnx", index, "x != 1, x - c == 4, x <= 9", "c * c", "c + c"),
    ("yc", int64, "y * c == 12", "y * y", "y + y"),
    ("cyn", index, "n * n > 20, c + y == 7", "y % y", "y"),
    ("xny", index, "x * y == 12, x != 1", "y * y", "y + y"),
    ("cnx", index, "x + c == 7, c != 0", "minimum(c, n) * 2", "c + n"),
    ("xyc", int8, "c * x == 12", "y | y", "y + y"),
    ("xcy", int32, "(c % 4 == 2) | (c == 3), y - c == 4", "y - x", "x - y"),
    ("ync", index, "c != n, c + y == 7", "n % y", "n"),
    ("xc", int64, "x % 7 == 5, x - c == 4", "(c * x) // x", "c + where(c > 6, 1, 0)"),
    ("nc", index, "n != 1, n % 2 == 0", "n + c", "c"),
    ("n", index, "n != 0, n != 1, n != 3", "n // 2 * 2 + n % 3", "n"),
    ("n", index, "(n == 0) | (n == 2)", "n * n", "n + n + n"),
    ("xy", uint32, "x > 1000, y * 3 == x", "x // y", "y"),
    ("xyc", int64, "x < y, c > 2, x * c == y", "y // x", "c + 1"),
)


@pytest.mark.parametrize("case", CONJUNCTIONS, ids=lambda c: f"{c[2]}: {c[3]} → {c[4]}")
def test_the_smallest_point_under_several_conditions_is_shown(case: Any) -> None:
    names, dtype, conditions, left, right = case
    words = {"maximum": maximum, "minimum": minimum, "where": where, "given": given}
    exec(f"def wrong({', '.join(names)}):\n    given({conditions})\n    return {left}, {right}", words)
    words["wrong"].__annotations__ = {n: KINDS[n] for n in names}
    stated = rule(dtypes=[dtype])(words["wrong"])
    obligation = obligation_of(next(goals(stated, dtype)))
    trial = Points(obligation)
    reach = {1: 1200, 2: 40, 3: 13}[len(names)]
    low = -reach if dtype is index or dtype.signed else 0
    box = product(range(low, reach + 1), repeat=len(obligation.variables))
    least = min((p for p in box if trial.at(p) == FAILS), key=lambda p: rank(obligation, p), default=None)
    shown = prove_layer(stated, dtype, derive=False).counterexample
    assert shown is not None
    found = tuple(int(dict(shown.bindings)[n]) for n in obligation.variables)
    assert least is None or rank(obligation, found) <= rank(obligation, least)


# tensors: all ranks, sizes and a few elements ---------------------------------------------------------------------


@rule
def flipped(x: Tensor, f: Flags):
    return x.flip(f), x


@rule
def cropped(x: Tensor, o: Offset, s: Shape):
    return x.shrink(o, s).pad(o, x.shape), x


@rule
def zero_padded(x: Tensor["n"], m: Size):  # noqa: F821
    given(m >= x.shape[0])
    return (x + 1).pad((0,), (m,)), x.pad((0,), (m,)) + 1


@rule
def not_two(x: Tensor["n"]):  # noqa: F821
    given(x.shape[0] != 1)
    return x.flip((True,)), x


@rule(dtypes=[int8])
def squared(x: Tensor["n"]):  # noqa: F821
    return where(x * x == x, x, x + x), where(x == 0, x, x + x)


@rule(dtypes=[bool_])
def inverted(x: Tensor["n"]):  # noqa: F821
    return x & ~x, x


@rule(dtypes=[float32])
def undone(x: Tensor["n"], y: Tensor["n"]):  # noqa: F821
    return (x - y) + y, x


TENSORS = (flipped, cropped, zero_padded, not_two, squared, inverted, undone)
FEW = {
    bool_: (False, True),
    int8: (0, 1, -1, 2),
    int32: (0, 1, -1, 2),
    float32: (0.0, 1.0, -1.0, -0.0, math.inf),
}


def smaller_or_equal(goal: Goal) -> Iterator[tuple[Any, dict[str, Array]]]:
    """Every choice of sizes up to 3 and of a few elements, with its place in the order."""
    names = sizes(goal)
    natural = [counterexamples_sizes._is_size(goal, n) for n in names]
    place_of = counterexamples_sizes.place_of(goal)
    for chosen in product(*(range(4) if n else range(-1, 2) for n in natural)):
        place = place_of(chosen)
        given_sizes = {n: number(v) for n, v in zip(names, chosen, strict=True)}
        nodes = {n: v for n, v in goal.variables.items() if n not in given_sizes}
        try:
            shapes = {n: concrete(v.shape, goal, given_sizes) for n, v in nodes.items()}
        except Exception:
            continue
        slots = [nodes[n].dtype for n, s in shapes.items() for _ in range(math.prod(s))]
        if len(slots) > 3:
            continue
        plain = [counted(d, k) for k, d in enumerate(slots, start=1)]
        for flat in (plain, *product(*(FEW[d] for d in slots))):
            cells = iter(flat)
            arrays = {
                n: Array(nodes[n].dtype, s, tuple(islice(cells, math.prod(s)))) for n, s in shapes.items()
            }
            yield (place, elements_key(list(zip(slots, flat, strict=True)))), {**given_sizes, **arrays}


@pytest.mark.parametrize("stated", TENSORS, ids=lambda r: r.id)
def test_no_smaller_tensors_exist_among_those_that_can_be_tried(stated: Rule) -> None:
    shown = prove(stated).counterexample
    assert shown is not None
    (dtype,) = {d for d in (*(stated.dtypes or ()), int32) if shown.instance.startswith(f"dtype {d}")}
    for goal in goals(stated, dtype):
        failing = [
            (place, inputs)
            for place, inputs in smaller_or_equal(goal)
            if (found := replay(goal, inputs)) is not None and found.differs
        ]
        if goal.label == shown.instance:
            _, inputs = min(failing, key=lambda f: f[0])
            names = goal.rule.kinds
            expected = {n: counterexamples_tensors._binding(goal, n, inputs) for n in names}
            assert dict(shown.bindings) == expected
            break
        assert not failing, f"{goal.label} comes first, and is wrong"


def test_sizes_that_the_solver_overlooked_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the solver had found larger sizes and nothing below them."""
    from soundline.verify.smt.proving import instances

    true = instances.smallest

    def large(question: Any, goal: Goal) -> Any:
        found = true(question, goal)
        if found is None:
            return None
        return type(found)(
            {n: 3 if n.startswith("x.shape") else v for n, v in found.ints.items()}, found.truths
        )

    monkeypatch.setattr(instances, "smallest", large)
    shown = prove(flipped).counterexample
    assert shown is not None
    assert dict(shown.bindings)["x"] == "int32 (2,): [1, 2]"


# what is shown ----------------------------------------------------------------------------------------------------


def test_the_elements_that_differ_are_marked_on_both_sides() -> None:
    shown = prove(flipped).counterexample
    assert shown is not None
    assert (shown.left, shown.right) == ("int32 (2,): [«2», «1»]", "int32 (2,): [«1», «2»]")
    assert shown.differences == (Difference((0,), "2", "1"), Difference((1,), "1", "2"))
    assert shown.differing == 2


def test_steps_explain_a_difference() -> None:
    shown = prove_layer(const_wrong, int8).counterexample
    assert shown is not None
    assert dict(shown.bindings) == {"x": "43", "c": "3"}
    assert shown.steps == (("x * c", "-127"),)
    tensors = prove(zero_padded).counterexample
    assert tensors is not None
    assert [expression for expression, _ in tensors.steps] == ["x + 1", "x.pad((0,), (m,))"]


def test_shapes_that_differ_are_said() -> None:
    @rule
    def longer(x: Tensor["n"], m: Size):  # noqa: F821
        given(m > x.shape[0])
        return x.pad((0,), (m,)), x

    shown = prove(longer).counterexample
    assert shown is not None
    assert shown.note == "the shapes differ: (2,) and (1,)"
    assert shown.differences == ()


# every test that is shown runs ------------------------------------------------------------------------------------

TWINS = Path(__file__).parents[1] / "wrong_twins"


def wrong_rules() -> list[Rule]:
    """A part of the wrong twins of the library, some from each file, and those above."""
    from soundline.verify.files.loader import load

    found = []
    for file in sorted(TWINS.glob("*.py")):
        rules = load(str(file)).rules
        found += rules[:: max(1, len(rules) // 4)][:4]
    return [*SCALARS, *TENSORS, *found]


@pytest.mark.parametrize("stated", wrong_rules(), ids=lambda r: r.id)
def test_the_test_of_a_counterexample_runs_as_printed(stated: Rule, tmp_path: Path) -> None:
    """In a file of its own, collected by its name; a changed expectation makes it fail."""
    shown = prove(stated).counterexample
    assert shown is not None, stated.id
    run(shown, tmp_path, "test_as_printed")
    assert shown.case is None or shown.case.left
    changed = shown.test.replace("assert not same_value", "assert same_value").replace(
        "left != right", "left == right"
    )
    if changed != shown.test:
        (tmp_path / "test_changed.py").write_text(changed, encoding="utf-8")
        with pytest.raises(AssertionError):
            run_file(tmp_path, "test_changed")


def run(shown: Counterexample, folder: Path, module: str) -> None:
    (folder / f"{module}.py").write_text(shown.test, encoding="utf-8")
    run_file(folder, module)


def run_file(folder: Path, module: str) -> None:
    sys.path.insert(0, str(folder))
    try:
        made = importlib.import_module(module)
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(module, None)
    tests = [f for n, f in vars(made).items() if n.startswith("test_")]
    assert len(tests) == 1
    tests[0]()
