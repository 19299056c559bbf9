"""The comparison with StableHLO: what is printed, that differences and silence are noticed, and what is drawn.

The interpreter itself is asked by ``make verify-deep``, which installs it; here another evaluator answers for it.
"""

from __future__ import annotations

import io
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from trials import deep
from trials.differential import stablehlo
from trials.differential.hlo_programs import DTYPES, KINDS, Drawn, drawn, element
from trials.differential.hlo_text import module, product_of

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import bool_, float16, float32, index, int8, int32, uint8, uint64
from soundline.spec.errors import UsageError
from soundline.spec.evaluate import evaluate
from soundline.spec.uop import Op, ReduceArg, broadcast_to, const, pad, param, reshape, shrink, toposort
from soundline.spec.values.elementwise import scalar

ROOT = Path(__file__).resolve().parents[2]

X = param(0, float32, (2, 3))
I = param(0, int32, (2, 3))  # noqa: E741  # as in "integers"


def printed(root: Any, *params: Any) -> list[str]:
    """The lines of a module's body."""
    return [line.strip() for line in module(root, params).splitlines()[2:-3]]


@pytest.mark.parametrize(
    ("root", "line"),
    [
        (Op.Add(I, I), '%v0 = "stablehlo.add"(%p0, %p0) : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>'),
        (
            Op.CmpLt(I, I),
            ("%v0 = stablehlo.compare LT, %p0, %p0, SIGNED : "
            "(tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi1>"),
        ),
        (
            Op.Shr(I, I),
            ('%v0 = "stablehlo.shift_right_arithmetic"(%p0, %p0) : '
            "(tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>"),
        ),
        (
            Op.Permute(I, arg=(1, 0)),
            "%v0 = stablehlo.transpose %p0, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>",
        ),
        (Op.Flip(I, arg=(False, True)), "%v0 = stablehlo.reverse %p0, dims = [1] : tensor<2x3xi32>"),
        (reshape(I, (6,)), "%v0 = stablehlo.reshape %p0 : (tensor<2x3xi32>) -> tensor<6xi32>"),
        (shrink(I, (0, 1), (2, 2)), "%v0 = stablehlo.slice %p0 [0:2, 1:3] : (tensor<2x3xi32>) -> tensor<2x2xi32>"),
        (
            pad(I, (1, 0), (4, 5)),
            ("%v1 = stablehlo.pad %p0, %v0, low = [1, 0], high = [1, 2], interior = [0, 0] : "
            "(tensor<2x3xi32>, tensor<i32>) -> tensor<4x5xi32>"),
        ),
        (
            Op.Reduce(I, arg=ReduceArg(Op.Add, (1,))),
            ("%v1 = stablehlo.reduce(%p0 init: %v0) applies stablehlo.add across dimensions = [1] : "
            "(tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>"),
        ),
        (Op.Cast(I, arg=uint8), '%v0 = "stablehlo.convert"(%p0) : (tensor<2x3xi32>) -> tensor<2x3xui8>'),
    ],
)  # fmt: skip
def test_each_op_is_printed_as_its_twin(root: Any, line: str) -> None:
    assert line in printed(root, I)


def test_floats_and_bools_cross_as_bits() -> None:
    text = module(Op.CmpLt(X, broadcast_to(const(-0.0, float32), (2, 3))), [X])
    assert "@main(%p0: tensor<2x3xui32>) -> tensor<2x3xui8>" in text
    assert "stablehlo.bitcast_convert %p0 : (tensor<2x3xui32>) -> tensor<2x3xf32>" in text
    assert "dense<0x80000000>" in text
    assert ", FLOAT" in text


def test_a_float_sum_starts_at_minus_zero_and_a_maximum_at_the_least() -> None:
    assert "dense<0x8000>" in module(Op.Reduce(Op.Cast(X, arg=float16), arg=ReduceArg(Op.Add, (0,))), [X])
    assert "dense<0xFF800000>" in module(Op.Reduce(X, arg=ReduceArg(Op.Max, (0,))), [X])
    bools = Op.CmpLt(X, X)
    assert "applies stablehlo.or" in module(Op.Reduce(bools, arg=ReduceArg(Op.Max, (0,))), [X])
    assert "applies stablehlo.and" in module(Op.Reduce(bools, arg=ReduceArg(Op.Mul, (0,))), [X])


def gemm(m: int = 2, k: int = 3, n: int = 4, *, axes: tuple[int, ...] = (1,), op: Op = Op.Add) -> Any:
    a, b = param(0, int8, (m, k)), param(1, int8, (k, n))
    left = broadcast_to(reshape(a, (m, k, 1)), (m, k, n))
    right = broadcast_to(reshape(b, (1, k, n)), (m, k, n))
    return Op.Reduce(Op.Mul(left, right), arg=ReduceArg(op, axes)), a, b


def test_a_product_is_printed_whole() -> None:
    root, a, b = gemm()
    assert product_of(root) == (a, b)
    assert any(
        "stablehlo.dot_general %p0, %p1, contracting_dims = [1] x [0]" in t for t in printed(root, a, b)
    )


@pytest.mark.parametrize("options", [{"axes": (0,)}, {"op": Op.Max}, {"axes": (1, 2)}])
def test_another_reduction_of_products_is_no_product(options: dict[str, Any]) -> None:
    root, a, b = gemm(**options)
    assert product_of(root) is None
    assert not any("dot_general" in t for t in printed(root, a, b))


def test_factors_in_the_other_order_are_no_product() -> None:
    root, *_ = gemm(3, 3, 3)
    swapped = Op.Reduce(Op.Mul(*reversed(root.src[0].src)), arg=root.arg)
    assert product_of(swapped) is None


@pytest.mark.parametrize("root", [Op.Exp2(X), Op.Cast(const(1, index), arg=int32), Op.Idiv(I, I)])
def test_an_op_without_a_twin_is_refused(root: Any) -> None:
    with pytest.raises(UsageError):
        module(root, [n for n in toposort(root) if n.op is Op.Param])


# What is drawn ----------------------------------------------------------------------------------------------------


def test_programs_are_drawn_from_the_seed_alone() -> None:
    first, again = drawn(3, 5), drawn(3, 5)
    assert first.root is again.root
    assert [str(v.elements) for v in first.values] == [str(v.elements) for v in again.values]
    assert drawn(4, 5).root is not first.root


def test_every_kind_every_dtype_and_every_op_is_drawn_and_printed() -> None:
    programs = [drawn(stablehlo.SEED, n) for n in range(400)]
    assert Counter(p.kind for p in programs) == dict.fromkeys(KINDS, 400 // len(KINDS))
    assert {p.root.dtype for p in programs} == set(DTYPES)
    ops = {n.op for p in programs for n in toposort(p.root)}
    assert {
        Op.Where,
        Op.Cast,
        Op.Pad,
        Op.Shrink,
        Op.Reduce,
        Op.Flip,
        Op.Permute,
        Op.Expand,
        Op.Reshape,
    } <= ops
    assert {Op.Add, Op.Sub, Op.Mul, Op.Max, Op.Div, Op.Neg, Op.Sqrt, Op.Recip, Op.Shl, Op.Shr} <= ops
    assert all(product_of(n) for p in programs if p.kind == "dot" for n in toposort(p.root) if _is_sum(n, p))
    assert all(module(p.root, p.params) for p in programs)


def _is_sum(node: Any, program: Drawn) -> bool:
    return node is program.root and node.op is Op.Reduce


def test_telling_values_are_drawn() -> None:
    import random

    rng = random.Random(1)
    found = [element(rng, float32) for _ in range(400)]
    assert any(isinstance(e, float) and math.isnan(e) for e in found)
    assert {math.inf, -math.inf} <= set(found)
    assert any(e == 0 and math.copysign(1, e) < 0 for e in found)
    assert all(type(element(rng, bool_)) is bool for _ in range(5))


# The comparison ---------------------------------------------------------------------------------------------------


class Twin:
    """Answers by our own evaluator, changed by a function; a None from it is an end of the process."""

    changed: Callable[[int, list[int]], list[int] | None]

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, question: dict[str, Any]) -> dict[str, Any] | None:
        json.dumps(question)
        if question["ask"] == "threefry":
            return {"words": [self.words(k, c) for k, c in question["pairs"]]}
        program = drawn(7, self.asked)
        self.asked += 1
        value = evaluate(program.root, params=dict(enumerate(program.values)))
        carried = [stablehlo._outside(value.dtype, e) for e in value.elements]
        answer = type(self).changed(self.asked - 1, carried)
        return None if answer is None else {"elements": answer}

    @staticmethod
    def words(key: list[int], counter: list[int]) -> list[int]:
        value = scalar(Op.Threefry, uint64, counter[0] | counter[1] << 32, key[0] | key[1] << 32)
        return [int(value) & 0xFFFFFFFF, int(value) >> 32]

    def close(self) -> None:
        pass


def compared(monkeypatch: pytest.MonkeyPatch, twin: type[Twin]) -> tuple[int, str]:
    monkeypatch.setattr(stablehlo, "Oracle", twin)
    out = io.StringIO()
    code = stablehlo.compare(Console(file=out, width=200), 7, 24, 5)
    return code, out.getvalue()


def test_equal_results_succeed_with_one_summary_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Honest(Twin):
        changed = staticmethod(lambda number, carried: carried)

    code, text = compared(monkeypatch, Honest)
    assert code == 0
    assert text.splitlines() == [
        (
            "StableHLO: 24 of 24 random programs equal bit for bit (3 elementwise, 3 movement, 3 reduce, 3 dot, "
            "3 select, 3 convert, 3 pad, 3 slice); 0 differ, 0 ended the interpreter. "
            "Threefry: 5 of 5 blocks equal JAX's. Seed 7."
        )
    ]


def test_one_wrong_bit_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    class Liar(Twin):
        changed = staticmethod(lambda n, c: [c[0] ^ 1, *c[1:]] if n == 9 else c)

    code, text = compared(monkeypatch, Liar)
    assert code == 1
    assert "program 9 (movement): element 0 is" in text
    assert "23 of 24" in text
    assert "1 differ, 0 ended" in text


def test_a_missing_element_is_a_difference() -> None:
    program = next(p for n in range(50) if (p := drawn(7, n)).values and p.root.shape)
    value = stablehlo.lawful(program)
    carried = [stablehlo._outside(value.dtype, e) for e in value.elements]
    assert stablehlo.difference(program, {"elements": carried}) is None
    assert stablehlo.difference(program, {"elements": carried[:-1]}) is not None
    assert stablehlo.difference(program, {"error": "no such op"}) == "no such op"


def test_a_zero_of_the_other_sign_is_a_difference_and_another_nan_is_none() -> None:
    x = param(0, float32, (2,))
    program = Drawn("pad", x, (x,), (Array(float32, (2,), (-0.0, math.nan)),))
    assert stablehlo.difference(program, {"elements": [0x80000000, 0xFFC00001]}) is None
    assert stablehlo.difference(program, {"elements": [0, 0x7FC00000]}) is not None
    assert replace(program, kind="slice").kind == "slice"


def test_an_ended_interpreter_is_counted_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fragile(Twin):
        changed = staticmethod(lambda n, c: None if n in (2, 3) else c)

    code, text = compared(monkeypatch, Fragile)
    assert code == 1
    assert "program 3 (dot) ended the interpreter" in text
    assert "22 of 24" in text
    assert "0 differ, 2 ended" in text


def test_another_threefry_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(Twin):
        changed = staticmethod(lambda number, carried: carried)

        @staticmethod
        def words(key: list[int], counter: list[int]) -> list[int]:
            return Twin.words(counter, key)

    code, text = compared(monkeypatch, Other)
    assert code == 1
    assert "0 of 5 blocks equal JAX's" in text


def test_the_process_is_started_again_after_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(question: dict[str, Any]) -> dict[str, Any]:
        return {"by": os.getpid()} if question else os._exit(0)

    monkeypatch.setattr(stablehlo.hlo_worker, "answer", answer)
    oracle = stablehlo.Oracle()
    first, again, ended, other = (oracle.ask(q) for q in ({"a": 1}, {"a": 2}, {}, {"a": 3}))
    oracle.close()
    assert ended is None
    assert first == again is not None
    assert first != other is not None
    assert os.getpid() not in (first["by"], other["by"]), "what the interpreter ends is not this process"  # type: ignore[index]


def test_without_jaxlib_it_says_so_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "jaxlib", None)
    assert stablehlo.main([]) == 2
    assert "jaxlib is not installed" in capsys.readouterr().out


def test_make_verify_deep_installs_it_and_asks_it_first() -> None:
    recipe = (ROOT / "Makefile").read_text().partition("\nverify-deep:")[2].partition("\n\n")[0]
    steps = recipe.splitlines()
    assert "$(CONFORMANCE_STAMP)" in steps[0]
    assert "trials.deep" in steps[1]
    assert deep.STAGES[0].command(0, 1.0)[0] == "trials.differential.stablehlo"
    assert not any(step.strip().startswith("-") or "|| true" in step for step in steps)
