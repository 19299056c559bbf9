"""Compositions that state their adjoint: e^x, the logarithm, and what is made of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.analysis.elementary import exp, log
from soundline.impl.tensors.numerics import gradients
from soundline.impl.tensors.numerics.derivatives import argument, stated
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import bool_, float16, float32, float64, uint8
from soundline.spec.evaluate import evaluate
from soundline.spec.gradients import backward
from soundline.spec.gradients.backward import gradient
from soundline.spec.ops.adjoints import Stated, filled
from soundline.spec.uop import Op, UOp, param, substitute, toposort

SHAPE = (7,)
X, G = param(0, float32, SHAPE), param(1, float32, SHAPE)
POINTS = np.array([-90.0, -3.5, -0.25, 0.0, 0.7, 30.0, 80.0], np.float32)
SEED = np.array([1.0, -2.0, 0.5, 3.0, 0.1, 1.5, -1.0], np.float32)


def value(node: UOp, *given: np.ndarray) -> np.ndarray:
    return evaluate(node, dict(enumerate(given or (POINTS, SEED)))).to_numpy()


def by_x(y: UOp, x: UOp = X, states: Any = stated) -> UOp:
    return gradient(y, [x], G, stated=states)[0]


# What is stated ---------------------------------------------------------------------------------------------------


def test_a_power_of_e_passes_its_value() -> None:
    assert by_x(exp(X)) is Op.Mul(G, exp(X))


def test_it_does_so_again_and_again() -> None:
    twice = gradient(by_x(exp(X)), [X], filled(X, 1.0), stated=stated)[0]
    assert np.array_equal(value(twice), value(Op.Mul(G, exp(X))))


def test_what_follows_from_the_ops_differs_by_rounding() -> None:
    exact = SEED * np.exp(POINTS.astype(np.float64))
    assert np.allclose(value(by_x(exp(X))), exact, rtol=4e-7, atol=1e-44)
    derived = gradient(exp(X), [X], G)[0]
    assert derived is not by_x(exp(X))
    assert np.allclose(value(derived), exact, rtol=4e-5, atol=1e-44)


@pytest.mark.parametrize("dtype", [float16, float32, float64])
def test_a_logarithm_passes_the_quotient(dtype: Any) -> None:
    x, g = param(0, dtype, (5,)), param(1, dtype, (5,))
    found = gradient(log(x), [x], g, stated=stated)[0]
    given = np.array([0.5, 4.0, 0.0, -1.0, math.inf], dtype.name)
    got = value(found, given, np.full(5, 3.0, dtype.name))
    assert np.array_equal(got, [6.0, 0.75, math.inf, math.nan, 0.0], equal_nan=True)


def test_it_passes_through_a_function() -> None:
    def f(t: Any) -> Any:
        return t.exp() * 2.0

    x = Tensor(POINTS)
    whole, direct = (h(x).gradient(x, gradient=Tensor(SEED))[0].numpy() for h in (sl.function(f), f))
    assert whole.tobytes() == direct.tobytes()


DERIVATIVES: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "log": lambda x: 1 / x if x > 0 else math.nan,
    "expm1": math.exp,
    "log1p": lambda x: 1 / (1 + x) if x > -1 else math.nan,
    "sigmoid": lambda x: 1 / (2 + math.exp(-x) + math.exp(x)),
    "tanh": lambda x: math.cosh(x) ** -2,
    "erf": lambda x: 2 / math.sqrt(math.pi) * math.exp(-x * x),
}
AT = (-30.0, -2.5, -0.75, -1e-3, 1e-3, 0.5, 1.25, 4.0, 28.0)


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_have_their_derivatives(name: str, dtype: Any) -> None:
    x = Tensor(np.array(AT, dtype))
    y = getattr(x, name)()
    assert stated(y.uop) is not None
    found = y.sum().gradient(x)[0].numpy()
    unit = float(np.finfo(dtype).eps)
    for got, at in zip(found, x.numpy().tolist(), strict=True):
        assert float(got) == pytest.approx(DERIVATIVES[name](at), rel=16 * unit, abs=2 * unit, nan_ok=True)


@pytest.mark.parametrize("name", ["gelu", "silu", "elu", "softplus"])
def test_activations_are_made_of_them(name: str) -> None:
    """Rules for sums and products of what is stated and what is not."""
    x = Tensor(np.linspace(-3.0, 3.0, 12))
    slope = getattr(x, name)().sum().gradient(x)[0]
    step = 2.0**-20
    ahead, behind = (getattr(x + h, name)() for h in (step, -step))
    assert np.allclose(slope.numpy(), ((ahead - behind) / (2 * step)).numpy(), rtol=1e-8, atol=1e-9)


# What is not ------------------------------------------------------------------------------------------------------


def test_what_looks_like_it_states_nothing() -> None:
    """Every constant of the program belongs to it."""
    t = Tensor.of(X)
    for root in (exp(X), log(X), t.tanh().uop, t.sigmoid().uop):
        assert stated(root) is not None
        constants = [n for n in toposort(root) if n.op is Op.Const and n.dtype is float32]
        for node in constants:
            other = substitute(root, {node: UOp(Op.Const, (), _next(node))})
            assert other is not root
            assert stated(other) is None
    for other in (X, Op.Exp2(X), Op.Max(X, G), t.softplus().uop, Op.Cast(exp(X), arg=float64)):
        assert stated(other) is None


def test_two_arguments_are_none() -> None:
    """What stands in one place of the argument stands in all."""
    root = exp(X)
    clamped = root.src[1].src[0].src[1].src[1].src[0]
    assert clamped.op is Op.Where
    assert stated(substitute(root, {clamped: Op.Mul(clamped, clamped)})) is None
    own = param(5, float32, SHAPE)
    template = Op.Add(own, Op.Mul(own, own))
    assert argument(template, own, Op.Add(G, Op.Mul(G, G))) is G
    assert argument(template, own, Op.Add(G, Op.Mul(G, X))) is None
    assert argument(template, own, Op.Add(G, Op.Add(G, G))) is None


def _next(node: UOp) -> Any:
    """Another number in the place of a constant."""
    given = node.arg.value
    return dataclasses.replace(node.arg, value=2.0 * given if math.isfinite(given) and given else 1.0)


def test_where_a_derivative_by_something_inside_is_asked_for_it_is_derived() -> None:
    root = exp(X)
    power = root.src[1]
    assert power.op is Op.Exp2
    for xs in ([power], [power, X]):
        assert gradient(root, xs, G, stated=stated) == gradient(root, xs, G)


def test_what_is_not_live_receives_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though e^x is infinite there, and so is what is upstream."""
    x = np.where(np.arange(7) % 2 == 1, np.float32(np.inf), POINTS)
    chosen = param(2, bool_, SHAPE)
    y = Op.Where(chosen, exp(Op.Mul(X, X)), filled(X, 0.0))
    found = by_x(y)
    at = (x, SEED, np.arange(7) % 2 == 0)
    assert np.array_equal(value(found, *at)[1::2], [0.0, 0.0, 0.0])

    def careless(own: Stated, node: UOp, g: backward.Cotangent) -> list[tuple[UOp, backward.Cotangent]]:
        parts: Sequence[UOp | None] = own.law(node, g.value)
        return [(own.operands[0], backward.Cotangent(part)) for part in parts if part is not None]

    monkeypatch.setattr(backward, "_stated", careless)
    assert np.isnan(value(by_x(y), *at)[1::2]).all()


def test_a_wrong_statement_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    t = np.array([0.5, -1.0, 0.25])
    wanted = np.exp(t) * (1 + t)

    def slope() -> np.ndarray:
        x = Tensor(t)
        return (x.exp() * x).sum().gradient(x)[0].numpy()

    def wrong(node: UOp) -> Stated | None:
        own = stated(node)
        return own and dataclasses.replace(own, law=lambda node, g: (g,))

    assert np.allclose(slope(), wanted, rtol=1e-15)
    monkeypatch.setattr(gradients, "stated", wrong)
    assert not np.allclose(slope(), wanted, rtol=1e-3)


# What is made of them ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_no_derivative_passes_through_the_greatest_element(name: str) -> None:
    """Ties and all: what comes back through it cancels."""
    x = np.array([[0.5, -1.0, 2.0], [3.0, 3.0, 1.0]])
    seed = np.array([[1.0, 0.25, -2.0], [0.5, 3.0, 1.0]])
    p = Tensor(x)
    y = getattr(p, name)(-1)
    seed = seed if y.shape == x.shape else seed[:, 0]
    found = y.gradient(p, gradient=Tensor(seed))[0].numpy()
    s = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    wanted = {
        "softmax": lambda: s * (seed - (seed * s).sum(1, keepdims=True)),
        "log_softmax": lambda: seed - s * seed.sum(1, keepdims=True),
        "logsumexp": lambda: seed[:, None] * s,
    }[name]()
    assert np.allclose(found, wanted, rtol=1e-13, atol=1e-15)


def test_a_step_through_attention_keeps_no_masks() -> None:
    """Nothing but floats is stored on the way back through a softmax."""

    def slopes(q: Any, k: Any, v: Any) -> Any:
        return (q.scaled_dot_product_attention(k, v) * v).sum().gradient(q, k, v)

    given = [np.random.default_rng(n).standard_normal((24, 8)).astype(np.float32) for n in range(3)]
    program = sl.compile(slopes, *given)
    buffers = [n for n in toposort(program.stages["rangeify"]) if n.op is Op.Buffer]
    assert buffers
    assert not any(n.dtype in (uint8, bool_) for n in buffers)
    function = program.stages["callify"]
    held = {n.arg.slot: a.reshape(-1) for n, a in zip(function.src[1:], given, strict=True)}
    for k, got in enumerate(program(*given)):
        wanted = evaluate(Op.GetTuple(function, arg=k), buffers=held)
        assert got.tobytes() == np.array(wanted.elements, np.float32).tobytes()
