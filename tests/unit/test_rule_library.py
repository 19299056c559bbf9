"""
The shipped rules
=================

Each is proved at every layer for which it is declared, has a wrong twin that is refuted, and is run: an example is
built from its left side, the engine must apply the rule to it, and both programs must have the same value.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from soundline.impl import rules as library
from soundline.impl.analysis.facts import Facts
from soundline.impl.lower.graphs.single_rule import applied_to
from soundline.impl.matching.matcher import COMMUTATIVE, patterns_of
from soundline.impl.rewriting.engine import rewrite
from soundline.impl.rules import DECOMPOSE, LIBRARY, MODULES, PREMISES, SCANS, SIMPLIFY
from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import (
    DType,
    all_dtypes,
    bool_,
    float8_e4m3fn,
    float16,
    float32,
    index,
    int32,
    round_to,
)
from soundline.spec.errors import IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import AxisType, Op, UOp
from soundline.spec.rules.building import Abstraction, Env, build
from soundline.spec.rules.deciding import decide
from soundline.spec.rules.instances import declared_dtype, goals, is_about_shapes
from soundline.spec.rules.kinds import ranges_of
from soundline.spec.rules.language import Rule, collecting
from soundline.spec.rules.ranges import reduced_ranges
from soundline.spec.rules.terms import Static, Variable, named_sizes
from soundline.spec.uop import const, loop, param
from soundline.verify.campaigns.campaign import Settings, verify
from soundline.verify.files.finding import named
from soundline.verify.judging.judge import prove_layer
from soundline.verify.reports.report import Report
from soundline.verify.verdicts.cache import Cache, default_folder
from soundline.verify.verdicts.layers import layers_of

from ..representative import of_each_family, words_of  # noqa: TID252

ROOT = Path(__file__).resolve().parents[2]
TWINS = ROOT / "tests" / "wrong_twins"
BY_ID = {r.id: r for r in LIBRARY}


# Proofs -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def proofs() -> Report:
    """The verdicts of `soundline verify` on the library, from the transcript cache where it has them."""
    return verify(named([str(ROOT / "impl" / "rules")]), Settings(jobs=2, cache=Cache(default_folder())))


def test_library_is_proved(proofs: Report) -> None:
    assert [p.message for p in proofs.problems] == []
    assert {r.id for r in proofs.rules} == set(BY_ID)
    not_proved = [
        f"{r.id} at {layer.layer}: {layer.verdict} {layer.detail}"
        for r in proofs.rules
        for layer in r.layers
        if layer.verdict != "proved"
    ]
    assert not_proved == []


def test_every_declared_dtype_is_a_layer(proofs: Report) -> None:
    for report in proofs.rules:
        expected = [name for name, _ in layers_of(BY_ID[report.id])]
        assert [layer.layer for layer in report.layers] == expected
        assert report.verdict == "proved"


def test_library_is_large_and_told_apart() -> None:
    assert len(LIBRARY) >= 60
    assert [name for name, n in Counter(r.id for r in LIBRARY).items() if n > 1] == []
    assert all(r.doc for r in LIBRARY), "a rule says what it is good for"
    modules = {p.stem for p in (ROOT / "impl" / "rules").rglob("*.py")} - {"__init__", "procedural"}
    assert {m.__name__.rpartition(".")[2] for m in MODULES} == modules
    apart = {*library.rules_in(library.commutativity), *DECOMPOSE, *PREMISES, *SCANS}
    assert set(SIMPLIFY) == set(LIBRARY) - apart


def test_commutative_ops_are_proved_for_every_dtype_that_has_them() -> None:
    for op, stated in COMMUTATIVE.items():
        assert stated in LIBRARY
        assert stated.left.head is op
        assert stated.right.head is op
        assert stated.right.args == stated.left.args[::-1]
        assert set(stated.dtypes or ()) == {d for d in all_dtypes if _admits(op, d)}


def _admits(op: Op, dtype: DType) -> bool:
    operand = param(0, dtype)
    try:
        UOp(op, (operand, operand))
    except IllFormed:
        return False
    return True


# Wrong twins ------------------------------------------------------------------------------------------------------


def _read(file: Path) -> list[Rule]:
    with collecting() as found:
        spec = importlib.util.spec_from_file_location(f"wrong_twins_{file.stem}", file)
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert found.errors == []
    return found.rules


FILE_OF = {r: file.stem for file in sorted(TWINS.glob("*.py")) for r in _read(file)}
TWINS_BY_ID = {r.id: r for r in FILE_OF}


def test_every_rule_has_a_twin_in_the_file_of_the_same_name() -> None:
    for module in MODULES:
        name = module.__name__.rpartition(".")[2]
        twins = {r.id for r in _read(TWINS / f"{name}.py")}
        assert twins == {f"{r.id}_wrong" for r in library.rules_in(module)}, name


def _families(name: str) -> set[str]:
    """The file of a twin, and the ops and words of the rule language that it uses."""
    return {FILE_OF[TWINS_BY_ID[name]], *words_of(TWINS_BY_ID[name])}


@pytest.mark.parametrize("name", of_each_family(TWINS_BY_ID, _families))
def test_wrong_twin_is_refuted(name: str) -> None:
    twin = TWINS_BY_ID[name]
    assert twin.doc, "a twin says what was changed"
    verdicts = [prove_layer(twin, dtype) for _, dtype in layers_of(twin)]
    refuted = [v for v in verdicts if v.verdict == "refuted"]
    assert refuted, f"{twin} was not refuted: {[v.verdict for v in verdicts]}"
    shown = refuted[0].counterexample
    assert shown is not None
    assert shown.left != shown.right


# Examples ---------------------------------------------------------------------------------------------------------

SIZES = (1, 2, 3, 4, 6)
NUMBERS = (2, 1, 3, 4, 0, 8, -1, 5, -4, 12)


class Example:
    """One choice of nodes for a rule's variables, and the left side that they make."""

    def __init__(
        self, stated: Rule, env: Env, chance: random.Random, shape: tuple[int, ...], small: bool
    ) -> None:
        self.stated, self.env, self.chance, self.shape, self.small = stated, env, chance, shape, small
        self.params: dict[int, UOp] = {}
        self.bound: dict[str, Any] = dict(env.bound)
        valid = patterns_of(stated)[0].demanding
        ranks = env.bound["rank of"]
        for name, kind in stated.kinds.items():
            dtype = declared_dtype(kind, env)
            match kind.kind:
                case "Const":
                    self.bound[name] = const(self._number(dtype), dtype)
                case "Value" | "Bool" if name in valid:
                    self.bound[name] = self._valid(bool_ if kind.kind == "Bool" else dtype, len(self.bound))
                case "Value" | "Interval":
                    self.bound[name] = self._param(dtype, self.shape)
                case "Bool":
                    self.bound[name] = self._param(bool_, self.shape)
                case "Size":
                    self.bound[name] = const(chance.choice(SIZES), index)
                case "Shape":
                    self.bound[name] = tuple(chance.choice(SIZES) for _ in range(ranks[name]))
                case "Offset":
                    self.bound[name] = tuple(chance.randrange(3) for _ in range(ranks[name]))
        reduced = reduced_ranges(stated.left)
        for number, name in enumerate(n for n, k in stated.kinds.items() if k.kind == "Range"):
            self.bound[name] = self._range(stated.kinds[name], number, reduced=name in reduced)
        for name, kind in stated.kinds.items():
            if kind.kind == "Body":
                ranges = tuple(self.bound[r] for r in ranges_of(kind, stated.kinds))
                self.bound[name] = self._body(declared_dtype(kind, env), ranges, valid=name in valid)
            if kind.kind == "Tensor":
                inside = named_sizes(kind)
                free = tuple(chance.choice(SIZES) for _ in range(ranks[name]))
                sizes = (
                    tuple(s if isinstance(s, int) else self.bound[str(s)].arg.value for s in inside) or free
                )
                self.bound[name] = self._param(declared_dtype(kind, env), sizes)

    def _valid(self, dtype: DType, number: int) -> UOp:
        """A value that is never invalid, whatever the program is run on."""
        ranged = loop(6, number)
        if dtype is index and self.chance.random() < 0.5:
            return Op.Add(Op.Mod(ranged, const(3, index)), const(1, index))  # one that is never 0
        return (
            Op.CmpLt(ranged, const(3, index))
            if dtype is bool_
            else ranged
            if dtype is index
            else Op.Cast(ranged, arg=dtype)
        )

    def _range(self, kind: Variable, number: int, *, reduced: bool) -> UOp:
        """A loop as long as the brackets say; one that no reduction closes has one of the ids that
        `differences` binds.
        """
        (size,) = kind.inside
        end = size if isinstance(size, int) else self.bound[str(size)]
        return loop(end, 20 + number, AxisType.REDUCE) if reduced else loop(end, number)

    def _body(self, dtype: DType, ranges: tuple[UOp, ...], *, valid: bool) -> Abstraction:
        """What is read at the ranges, or is computed of them."""
        if valid or self.chance.random() < 0.3:
            total = ranges[0]
            for r in ranges[1:]:
                total = Op.Sub(Op.Mul(total, const(3, index)), r)
            by_law = total if dtype is index else Op.Cast(Op.Cast(total, arg=int32), arg=dtype)
            return Abstraction(by_law, ranges)
        sizes = tuple(int(r.src[0].arg.value) for r in ranges)
        return Abstraction(Op.Index(self._param(dtype, sizes), *ranges), ranges)

    def _param(self, dtype: DType, shape: tuple[int, ...]) -> UOp:
        bounds = None
        if self.small and not dtype.is_float and dtype is not bool_:
            low = self.chance.choice((0, 0, 1, 5))
            bounds = (low, low + self.chance.choice((0, 1, 2)))
        elif self.small and dtype.is_float:
            low = self.chance.choice((-2.0, 0.5, 3.0))
            bounds = (low, low + 1.0)
        elif self.small:
            bounds = self.chance.choice(((False, False), (True, True), (False, True)))
        node = param(len(self.params), dtype, shape, bounds=bounds)
        self.params[node.arg.slot] = node
        return node

    def _number(self, dtype: DType) -> Any:
        number = self.chance.choice(NUMBERS)
        if dtype is bool_:
            return number > 1
        if dtype.is_float:
            return float(number)
        return max(number, int(dtype.min)) if dtype is not index else number

    def left(self) -> UOp:
        return build(self.stated.left, Env(self.env.dtype, self.bound, loops=40))

    def values(self) -> dict[int, Array]:
        """Random values for the Params, specials first among them."""
        return {slot: self._value(node) for slot, node in self.params.items()}

    def _value(self, node: UOp) -> Array:
        count = math.prod(int(s) for s in node.shape or () if isinstance(s, int))
        ends = None if node.arg.bounds is None else (node.arg.bounds[0].value, node.arg.bounds[1].value)
        pool = [v for v in special_values(node.dtype) if ends is None or ends[0] <= v <= ends[1]]
        return Array(
            node.dtype, tuple(node.shape or ()), tuple(self.chance.choice(pool) for _ in range(count))
        )


def special_values(dtype: DType) -> list[Any]:
    """Values at which laws bend."""
    if dtype is bool_:
        return [False, True]
    if dtype.is_float:
        bits = [-math.inf, -3.0, -2.0, -1.5, -1.0, -0.5, -1e-40, -0.0, 0.0, 1e-40, 0.5, 0.75, 1.0, 1.5, 2.0]
        wide = [*bits, 3.0, 3.5, 4.0, 7.0, 1e4, math.inf, math.nan, 6.1e-5, 5.9e-8, -448.0, 65504.0]
        return [round_to(dtype, v) for v in wide]
    least, most = (-(1 << 70), 1 << 70) if dtype is index else (int(dtype.min), int(dtype.max))
    return [v for v in (least, least + 1, *range(-5, 13), most - 1, most) if least <= v <= most]


def example(stated: Rule, dtype: DType, seed: int = 0) -> tuple[Example, UOp]:
    """A left side of a rule to which the engine applies it; shapes and numbers are tried until one is found."""
    chance = random.Random(f"{stated.id} {dtype} {seed}")
    instances = [g.env for g in itertools.islice(goals(stated, dtype, 2), 400)]
    about_shapes = is_about_shapes(stated)
    deep = [e for e in instances if not about_shapes or any(e.bound["rank of"].values())] or instances
    for attempt in range(6000):
        shape = () if about_shapes or attempt % 3 == 0 else (5,)
        if patterns_of(stated)[0].demanding:
            shape = ()
        made = Example(stated, chance.choice(deep), chance, shape, small=attempt % 2 == 1)
        try:
            left = made.left()
        except IllFormed:
            continue
        if _conditions_hold(stated, made) and once(stated, left) is not left:
            return made, left
    raise AssertionError(f"no example of {stated} at {dtype}")


def _conditions_hold(stated: Rule, made: Example) -> bool:
    env = Env(made.env.dtype, made.bound)
    return all(decide(c, env) for c in stated.given if isinstance(c, Static))


def _dtypes(stated: Rule) -> Iterator[DType]:
    """At most four dtypes of a rule, of different kinds."""
    layers = [dtype for _, dtype in layers_of(stated)]
    kinds: dict[str, DType] = {}
    for dtype in layers:
        kinds.setdefault(dtype.kind, dtype)
    yield from kinds.values()
    yield from (d for d in (float8_e4m3fn, float16) if d in layers and d not in kinds.values())


@pytest.mark.parametrize("name", [r.id for r in (*SIMPLIFY, *DECOMPOSE, *SCANS, *PREMISES)])
def test_rule_fires_and_keeps_the_value(name: str) -> None:
    stated = BY_ID[name]
    for dtype in _dtypes(stated):
        made, left = example(stated, dtype)
        assert differences(made, left, stated) == []


@pytest.mark.parametrize(
    "name", of_each_family([r.id for r in SIMPLIFY], lambda name: _families(f"{name}_wrong"))
)
def test_no_rule_is_hidden_by_the_others(name: str) -> None:
    """Among all the rules, in their order, each applies to some term of its own left side."""
    stated = BY_ID[name]
    terms = (example(stated, dtype, seed)[1] for seed in range(150) for dtype in _dtypes(stated))
    assert any(name in dict(rewrite(left, SIMPLIFY, licences=stated.licences).applied) for left in terms), (
        f"{name} never applies: what earlier rules make of its left sides leaves nothing to it"
    )


def once(stated: Rule, left: UOp) -> UOp:
    """What the engine makes of a left side. What a premise decides about is there again on the right, for ever."""
    if stated not in PREMISES:
        return rewrite(left, [stated], licences=stated.licences).uop
    return applied_to(stated, left, Facts()) or left


def differences(made: Example, left: UOp, stated: Rule) -> list[str]:
    """Inputs on which the program that the engine makes of an example differs from it."""
    rewritten = once(stated, left)
    assert rewritten is not left
    found = []
    for k in range(4):
        values, ranges = made.values(), dict.fromkeys(range(8), k * 5 % 6)
        before = evaluate(left, values, ranges=ranges)
        after = evaluate(rewritten, values, ranges=ranges)
        if before != after and not (stated.licences and _near(before, after)):
            found.append(f"{stated} at {made.env.dtype} on {values}: {before}, then {after}")
    return found


def _near(before: Array, after: Array) -> bool:
    """Whether a licence's other rounding may be all that lies between two values."""
    rows = zip(before.elements, after.elements, strict=True)
    numbers = [(a, b) for a, b in rows if isinstance(a, float) and isinstance(b, float)]
    finite = [(a, b) for a, b in numbers if math.isfinite(a) and math.isfinite(b)]
    tolerance = 0.1 if before.dtype.bits > 8 else 0.4  # where a rounding of a small number is a quarter of it
    return before.shape == after.shape and all(
        math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-3) for a, b in finite
    )


@pytest.mark.parametrize(
    "name",
    ["add_zero", "mul_zero", "max_self", "flip_flip", "pad_pad", "mod_of_reduced", "not_lt", "not_eq"],
)
def test_wrong_twin_is_told_by_running_it(name: str) -> None:
    """The comparison of values can fail: it tells wrong rules, too."""
    twin = TWINS_BY_ID[f"{name}_wrong"]
    found: list[str] = []
    for seed in range(30):
        dtype = layers_of(twin)[0][1]
        made, left = example(twin, dtype, seed)
        found += differences(made, left, twin)
    assert found


ONE_SIDED = {
    Op.Add: ("add_zero", const(0, int32)),
    Op.Mul: ("mul_one", const(1, int32)),
    Op.Max: ("max_least", const(-math.inf, float32)),
    Op.And: ("and_ones", const(-1, int32)),
    Op.Or: ("or_zero", const(0, int32)),
    Op.Xor: ("xor_zero", const(0, int32)),
    Op.CmpEq: ("eq_true", const(True, bool_)),
    Op.CmpNe: ("ne_true", const(True, bool_)),
}
"""For each commutative op a rule that has a constant on the right."""


@pytest.mark.parametrize("op", COMMUTATIVE, ids=lambda op: op.name)
def test_matcher_exchanges_operands_and_counts_the_rule_that_allows_it(op: Op) -> None:
    name, number = ONE_SIDED[op]
    x = param(0, number.dtype)
    as_stated, exchanged = (rewrite(op(*pair), [BY_ID[name]]) for pair in ((x, number), (number, x)))
    assert dict(as_stated.applied) == {name: 1}
    assert dict(exchanged.applied) == {name: 1, COMMUTATIVE[op].id: 1}
    assert as_stated.uop is exchanged.uop
