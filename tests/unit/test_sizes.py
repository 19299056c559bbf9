"""Symbolic sizes: compiled once, right at every size, and no access outside of what the caller gave."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soundline.impl import toolchain
from soundline.impl.arrays import storage
from soundline.impl.arrays.sizes import Size, Variable, as_node, bound, capacity, size_of, variables
from soundline.impl.codegen.c.target import TARGET
from soundline.impl.compilation.stages import lower
from soundline.impl.executables.signatures import Signature
from soundline.impl.lower.callify import callify
from soundline.impl.lower.graphs import size_obligations
from soundline.impl.lower.graphs.loops import closed, walked_as_one
from soundline.impl.lower.graphs.obligations import obligations
from soundline.impl.lower.linear.linearize import linearize
from soundline.impl.lower.rangeify import split
from soundline.impl.lower.schedule import size_loops
from soundline.impl.lower.schedule.applying import Scheduling
from soundline.impl.lower.steps import numbered
from soundline.impl.program import every_size
from soundline.impl.program.compile import compile  # noqa: A004
from soundline.impl.program.every_size import SizedProgram
from soundline.impl.runtime.host import host
from soundline.impl.tensors.core.functions import function
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import bool_, float32, int8, int32, int64
from soundline.spec.errors import CompileError, ScheduleError, UsageError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.sizes import polynomial
from soundline.spec.pipeline.stages import check_pipeline
from soundline.spec.uop import AxisType, Op, UOp, buffer, const, loop, toposort

RNG = np.random.default_rng(9)
N, M = Variable("n", 1, 12), Variable("m", 2, 7)
Apply = Callable[..., Any]


def f32(*shape: Any) -> Signature:
    return Signature(float32, shape)


def arrays(inputs: Sequence[Signature], values: dict[UOp, int]) -> list[np.ndarray]:
    """Random arguments at some sizes."""
    shapes = [tuple(bound(s, values) for s in i.shape) for i in inputs]
    kinds = {float32: np.float32, int32: np.int32, bool_: bool}
    return [(RNG.standard_normal(s) * 4).astype(kinds[i.dtype]) for i, s in zip(inputs, shapes, strict=True)]


def law(
    apply: Apply, inputs: Sequence[Signature], given: Sequence[np.ndarray], values: dict[UOp, int]
) -> list[Any]:
    """What the evaluator says of the graph over Variables, bound to these sizes."""
    places = [storage.placeholder(s.dtype, (capacity(s.shape),)) for s in inputs]
    traced = apply(*(Tensor.of(every_size._shaped(v, s)) for (_, v), s in zip(places, inputs, strict=True)))
    held = {}
    for (place, _), array in zip(places, given, strict=True):
        whole = np.zeros(place.arg.size, array.dtype)
        whole[: array.size] = array.reshape(-1)
        held[place.arg.slot] = whole
    graphs = [t.uop for t in (traced if isinstance(traced, tuple) else (traced,))]
    captured = [b for b in toposort(*graphs) if b.op is Op.Buffer and storage.holds(b)]
    held |= {b.arg.slot: storage.contents(b) for b in captured}
    bound_sizes = {v.arg.slot: n for v, n in values.items()}
    return [evaluate(g, params=bound_sizes, buffers=held).to_numpy() for g in graphs]


def same(a: Any, b: Any) -> None:
    assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def sizes_tried(*used: UOp) -> list[dict[UOp, int]]:
    """The least, the greatest, and one between."""
    bounds = {v: tuple(int(e.value) for e in v.arg.bounds) for v in used}
    ends = [{v: b[k] for v, b in bounds.items()} for k in (0, 1)]
    return [*ends, {v: int(RNG.integers(lo, hi + 1)) for v, (lo, hi) in bounds.items()}]


CASES: dict[str, tuple[Apply, tuple[Signature, ...]]] = {
    "elementwise": (lambda x, y: (x + y * 2).maximum(0) / (abs(x) + 1), (f32(N, 3), f32(N, 3))),
    "broadcast": (lambda x, y: x + y - x[:, :1] * 2, (f32(M, N), f32(N))),
    "sum over n": (lambda x: x.sum(0), (f32(N, 3),)),
    "sum beside n": (lambda x: x.sum(1, keepdim=True), (f32(N, 3),)),
    "sum of all": (lambda x: (x.sum(), x.max(), x.prod()), (f32(N, M),)),
    "mean": (lambda x: (x.mean(0), x.mean(1), x.mean()), (f32(N, 4),)),
    "any and all": (lambda x: ((x > 0).any(1), (x > -1).all(0)), (f32(M, N),)),
    "rows of a product": (lambda x, w: x @ w, (f32(N, 4), f32(4, 3))),
    "inner size of a product": (lambda x, w: x @ w, (f32(3, N), f32(N, 2))),
    "all sizes of a product": (lambda x, w: x @ w, (f32(N, M), f32(M, N))),
    "a transposed factor": (lambda x: x @ x.T, (f32(N, 4),)),
    "batches of products": (lambda x, w: x @ w, (f32(M, 2, N), f32(N, 3))),
    "softmax over n": (lambda x: x.softmax(-1), (f32(3, N),)),
    "softmax beside n": (lambda x: x.softmax(-1), (f32(N, 3),)),
    "attention": (lambda q, k, v: (q @ k.T / 2).softmax(-1) @ v, (f32(N, 2), f32(M, 2), f32(M, 2))),
    "cat along n": (lambda x, y: Tensor.cat(x, y, x, axis=0), (f32(N, 2), f32(M, 2))),
    "cat of n and 3": (lambda x, y: Tensor.cat(x, y, axis=1), (f32(2, N), f32(2, 3))),
    "cat beside n": (lambda x, y: Tensor.cat(x, y, axis=1).sum(1), (f32(N, 2), f32(N, 3))),
    "the first n": (lambda x, y: x[:N] + y, (f32(12), f32(N))),
    "all but n": (lambda x, y: x[N:].sum() + y.sum(), (f32(12), f32(N))),
    "nothing at the greatest": (lambda x, y: (x[N:].sum(), x[N:].max(), y.sum()), (f32(12), f32(N))),
    "all but one": (lambda x: x[1:] - x[:-1], (f32(M),)),
    "slices of n": (lambda x: (x[:, 1:], x[:1], x.narrow(1, 0, 1)), (f32(N, 3),)),
    "pad": (lambda x: x.pad(((1, 2), (0, 1))), (f32(N, 2),)),
    "pad by n": (lambda x, y: y.pad((N, N)), (f32(N), f32(2))),
    "flip": (lambda x: x.flip((0, 1)), (f32(N, M),)),
    "transpose": (lambda x: x.T.contiguous(), (f32(N, M),)),
    "flat": (lambda x: x.reshape(N * 4) * 2, (f32(N, 4),)),
    "rows of two": (lambda x: x.reshape(N, 2).sum(1), (f32(N * 2),)),
    "stack": (lambda x: Tensor.stack(x, x + 1, axis=1), (f32(N),)),
    "where": (lambda x, p: p.where(x, 0), (f32(N), Signature(bool_, (N,)))),
    "integers": (lambda x: (x // 3 + x % 3, x.sum()), (Signature(int32, (N, 2)),)),
    "costly": (lambda x: (x.sin() + x.exp()).sum(0), (f32(N, 2),)),
    "layer norm": (lambda x, w: x.layer_norm(weight=w), (f32(N, 4), f32(4))),
    "a function": (lambda x: function(lambda a: a * a + a.sum())(x) + 1, (f32(N, 2),)),
    "a gradient": (lambda x, w: ((x @ w).relu() ** 2).sum().gradient(w)[0], (f32(N, 3), f32(3, 2))),
    "rows at the ends": (lambda x: x[0] + x[-1] + x @ x[0, :1], (f32(N, 1),)),
    "variance": (lambda x: (x.var(0), x.std(1)), (f32(N, 4),)),
    "a norm of all": (lambda x: x.layer_norm(axis=(0, 1)), (f32(N, 3),)),
    "running sums": (lambda x: x.cumsum(0) + x.cumsum(1), (f32(N, 3),)),
    "ones of n": (lambda x: x + Tensor.ones(N, 3), (f32(N, 3),)),
    "an einsum": (lambda x, y: Tensor.einsum("ij,kj->ik", x, y), (f32(N, 3), f32(M, 3))),
    "positions": (lambda x: (x.argmax(0), x.argmin(1), (x.place(0) < N - 1).where(x, N)), (f32(N, 3),)),
    "order": (lambda x: (*x.sort(0), x.topk(1, 0)[0]), (f32(N, 2),)),
    "a triangle": (lambda x: (x @ x.T).tril(), (f32(N, 2),)),
    "causal attention": (
        lambda q, v: q.scaled_dot_product_attention(q, v, is_causal=True),
        (f32(N, 2), f32(N, 3)),
    ),
    "rows of a table": (lambda t, i: t.take(i, 0), (f32(5, 3), Signature(int32, (N,)))),
    "rows of a table of n": (lambda t, i: t.take(i, 0) + t[i[:1] % N], (f32(N, 3), Signature(int32, (M, 2)))),
    "one row of a table of n": (lambda t, i: t.take(i, 0), (f32(N, 3), Signature(int32, (1,)))),
    "columns of n": (lambda t, i: t.take(i, 1), (f32(2, N), Signature(int32, (M,)))),
    "gather and scatter": (
        lambda t, i, s: (t.gather(0, i[:1]), t.scatter_add(0, i, s)),
        (f32(N, 2), Signature(int32, (M, 2)), f32(M, 2)),
    ),
    "a table's gradient": (
        lambda t, i: (t.take(i, 0) ** 2).sum().gradient(t)[0],
        (f32(5, 2), Signature(int32, (N,))),
    ),
    "backwards": (lambda x: x[::-1, 1:], (f32(N, M),)),
    "sizes as numbers": (lambda x: (x * N + x.maximum(N) / (N + 1), N - x), (f32(N, 2),)),
    "constants and captured": (lambda x: x + CAPTURED + 1.5, (f32(N, 3),)),
}
CAPTURED = Tensor(np.arange(3, dtype=np.float32))


@pytest.mark.parametrize("name", CASES)
def test_one_program_is_right_at_every_size(name: str) -> None:
    apply, inputs = CASES[name]
    program = compile(apply, *inputs)
    assert isinstance(program, SizedProgram)
    assert all(o.how.endswith("at every size") for o in program.certificate.obligations)
    used = variables(*(as_node(s) for i in inputs for s in i.shape))
    for values in sizes_tried(*used):
        given = arrays(inputs, values)
        found = program(*given)
        wanted = law(apply, inputs, given, values)
        for a, b in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
            same(a, b)


def test_all_sizes_are_one_run_of_the_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    host()
    runs: list[Path] = []
    true = toolchain.Compiler.build
    monkeypatch.setattr(toolchain.Compiler, "build", lambda c, s, t: (runs.append(s), true(c, s, t))[1])
    monkeypatch.setenv("SOUNDLINE_CACHE_DIR", str(tmp_path))
    program = compile(lambda x, w: (x @ w).softmax(-1), f32(N, 4), f32(4, M))
    for n in range(1, 13):
        x, w = arrays([f32(n, 4), f32(4, 2 + n % 6)], {})
        assert program(x, w).shape == (n, 2 + n % 6)
    assert len(runs) == 1


def test_a_program_of_a_size_has_the_bits_of_the_one_for_it() -> None:
    """Also where the order of a long sum would be another for a number: there the order is that of all sizes."""
    n = Variable("long", 1, 600)
    x = RNG.standard_normal((2, 500)).astype(np.float32)
    found = compile(lambda x: x.softmax(0).sum(1), f32(2, n))(x)
    ascending = compile(lambda x: x.softmax(0).T.contiguous().sum(0), x)(x)
    same(found, ascending)


# Wrong sizes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (((0, 3), (3,)), r"the size n is 0, not one of 1 … 12"),
        (((13, 3), (13,)), r"the size n is 13, not one of 1 … 12"),
        (((4, 3), (5,)), r"argument 1 has shape \(5,\): the size n is 4 in another argument"),
        (((4, 2), (4,)), r"argument 0 has shape \(4, 2\)"),
        (((4,), (4,)), r"argument 0 has shape \(4,\)"),
        (((4, 3),), "takes 2 arguments, not 1"),
    ],
    ids=str,
)
def test_other_sizes_are_usage_errors(given: tuple[tuple[int, ...], ...], says: str) -> None:
    program = compile(lambda x, y: x.sum(1) + y, f32(N, 3), f32(N))
    with pytest.raises(UsageError, match=says):
        program(*(np.zeros(s, np.float32) for s in given))


def test_other_dtypes_devices_and_derived_sizes_are_usage_errors() -> None:
    program = compile(lambda x, y: x.sum() + y.sum(), f32(N), f32(N * 2 + 1))
    x, y = np.ones(3, np.float32), np.ones(7, np.float32)
    assert float(program(x, y)) == 10
    with pytest.raises(UsageError, match="dtype float64"):
        program(x.astype(np.float64), y)
    with pytest.raises(UsageError, match=r"argument 1 has shape \(6,\)"):
        program(x, y[:6])
    with pytest.raises(UsageError, match="Tensors on one device"):
        program(Tensor(x).to("CPU:1"), y)
    with pytest.raises(UsageError, match="symbolic sizes"):
        compile(lambda a: program(a, a), x)
    with pytest.raises(UsageError, match="part of another program"):
        program.applied(x, y)
    assert program.sizes_at([x, y]) == {"n": 3}
    same(program(Tensor(x), y), program(x, y))
    strided = np.arange(8, dtype=np.float32)[::2]
    same(compile(lambda x: x + 1, f32(N))(strided), strided + 1)
    odd = compile(lambda x: x.sum(), f32(N * 2))
    with pytest.raises(UsageError, match="do not determine the size n"):
        odd(np.ones(5, np.float32))


def test_a_size_must_be_that_of_an_argument() -> None:
    with pytest.raises(UsageError, match="no argument has an axis of the size m"):
        compile(lambda x: x.reshape(1, N).expand(M, N), f32(N))
    with pytest.raises(UsageError, match="no argument has an axis of the size"):
        compile(lambda x: x + 1, f32(N * M))


@pytest.mark.parametrize(
    ("apply", "says"),
    [
        (lambda x, y: x + y, "do not broadcast at every size"),
        (lambda x, y: x[:M], "whether m ≤ n depends|whether m > n depends|depends on the size"),
        (lambda x, y: x.reshape(12), "expected a shape"),
        (lambda x, y: x[5:], "depends on the size"),
        (
            lambda x, y: Tensor.zeros(x.shape[0] // 2) if x.shape[0] > 5 else x,
            "whether n > 5 depends on the size",
        ),
        (lambda x, y: sum(x.shape[0] for _ in range(x.shape[0])), "is not one number"),
        (lambda x, y: x * float(x.shape[0]), "is not one number"),
        (lambda x, y: x[::2], "takes no step"),
        (lambda x, y: x.median(0), "expected a known size"),
        (lambda x, y: x.cast(int8) + N * 90, "is not a value of int8"),
    ],
    ids=["broadcast", "slice", "reshape", "start", "branch", "loop", "float", "step", "order", "weak"],
)
def test_what_is_not_right_at_every_size_is_refused(apply: Apply, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        compile(apply, f32(N), f32(M))


@pytest.mark.parametrize("bad", [("n", 0, 4), ("n", 5, 4), ("no name", 1, 2), ("n", 1, 1 << 40)], ids=str)
def test_variables_have_a_name_and_bounds(bad: tuple[str, int, int]) -> None:
    with pytest.raises(UsageError, match="expected a name"):
        Variable(*bad)


@pytest.mark.parametrize("value", [0, 13, -1, True, 2.0, "3"], ids=repr)
def test_binding_holds_to_the_bounds(value: Any) -> None:
    assert N.bind(12) == 12
    with pytest.raises(UsageError, match="the size n is"):
        N.bind(value)


# Sizes ------------------------------------------------------------------------------------------------------------


def test_sizes_are_expressions() -> None:
    assert N + 1 - N == 1
    assert (N + M) * 2 == M * 2 + 2 * N
    assert hash((N + M) * 2) == hash(M * 2 + 2 * N)
    assert (N * 4) // 4 == N
    assert (N * 4) % 2 == 0
    negative = -N
    assert -negative == N
    assert N != M
    assert N != 5
    assert bool(N)
    assert str(N * 2 + 1) == "n * 2 + 1"
    assert bound((N * M + 1) // 2, {N.as_uop: 3, M.as_uop: 4}) == 6
    assert size_of(const(3, as_node(N).dtype)) == 3
    assert isinstance(size_of((N + 0).as_uop), Size)


def test_comparisons_are_decided_or_refused() -> None:
    assert N >= 1
    assert N <= 12
    assert N < 13
    assert not N > 12
    assert N + 1 > N
    assert not N - 1 >= N
    assert N <= 12
    for question in (lambda: N < 5, lambda: N <= M, lambda: N > M, lambda: N >= 2):
        with pytest.raises(UsageError, match="depends on the size"):
            question()


# Obligations ------------------------------------------------------------------------------------------------------


def test_the_prover_of_bounds_accepts_and_rejects() -> None:
    n, m = N.as_uop, M.as_uop
    i, j = loop(n, 0), loop(m, 1)
    four = loop(4, 2)
    fits = lambda at, size: size_obligations.fits(as_node(at), as_node(size), {})  # noqa: E731
    assert fits(i, n)
    assert fits(Op.Add(Op.Mul(i, m), j), Op.Mul(n, m))
    assert fits(Op.Add(Op.Mul(i, const(4, n.dtype)), four), N * 4)
    assert fits(Op.Sub(Op.Sub(n, const(1, n.dtype)), i), n)
    assert fits(i, 12)
    assert fits(i, N + M)
    assert fits(Op.Mul(i, i), Op.Mul(n, n))
    assert fits(Op.Mul(four, four), 10)
    assert not fits(Op.Mul(four, four), 9)
    assert not fits(Op.Mul(i, i), n)
    assert not fits(Op.Sub(const(2, n.dtype), i), 3)
    assert not fits(i, m)
    assert not fits(i, 11)
    assert not fits(Op.Add(i, const(1, n.dtype)), n)
    assert not fits(Op.Sub(i, const(1, n.dtype)), n)
    assert not fits(Op.Add(Op.Mul(i, n), j), Op.Mul(n, m))
    assert not fits(Op.Mul(i, j), Op.Mul(n, const(2, n.dtype)))


def test_a_polynomial_that_no_monomial_shows_to_be_non_negative() -> None:
    """It is one in what the sizes exceed their least values by."""
    shown = lambda size: size_obligations.is_non_negative(polynomial(as_node(size)))  # noqa: E731
    assert shown(N * M - N)
    assert shown(N * M - N - M + 1)
    assert shown(N * M - N * 2)
    assert not shown(N * M - N * 3)
    assert not shown(N * M - N - M)


def test_steps_and_what_is_left_over_are_inside() -> None:
    """A loop that is cut reaches its size, and no further."""
    n, eight = N.as_uop, const(8, N.as_uop.dtype)
    lanes, fits = loop(8, 0), lambda at, size: size_obligations.fits(at, as_node(size), {})
    steps, rest = loop(Op.Idiv(n, eight), 1), loop(Op.Mod(n, eight), 2)
    twice = loop(Op.Idiv(as_node(N * 2), eight), 3)
    done = Op.Mul(Op.Idiv(n, eight), eight)
    assert fits(Op.Add(Op.Mul(steps, eight), lanes), N)
    assert fits(Op.Add(Op.Mul(twice, eight), lanes), N * 2)
    assert fits(Op.Add(done, rest), N)
    assert not fits(Op.Add(Op.Mul(steps, eight), lanes), N - 1)
    assert not fits(Op.Add(Op.Mul(steps, eight), Op.Add(lanes, const(1, n.dtype))), N)
    assert not fits(Op.Add(Op.Mul(steps, const(9, n.dtype)), lanes), N)
    assert not fits(Op.Add(done, rest), N - 1)
    assert not fits(Op.Add(done, lanes), N)


def test_an_index_that_is_kept_inside_is_inside_at_every_size() -> None:
    """As `take` keeps it; one place further, or kept by something that is no size, it is not."""
    n = N.as_uop
    anything = Op.Max(Op.Load(Op.Index(buffer(3, 8, int64), loop(8, 0))), const(0, int64))

    def kept(most: UOp) -> UOp:
        return Op.Cast(Op.Neg(Op.Max(Op.Neg(anything), most)), arg=n.dtype)

    def negated(size: Any) -> UOp:
        return Op.Cast(as_node(0 - size), arg=int64)

    fits = lambda at, size: size_obligations.fits(at, as_node(size), {})  # noqa: E731
    assert fits(kept(negated(N - 1)), N)
    plain = Op.Max(
        Op.Neg(Op.Max(Op.Cast(anything, arg=n.dtype), as_node(0))), as_node(1 - N)
    )  # as rules leave it
    assert fits(Op.Mul(plain, as_node(-1)), N)
    assert not fits(Op.Mul(plain, as_node(-2)), N)
    assert not fits(Op.Mul(plain, as_node(-1)), N - 1)
    assert fits(Op.Add(Op.Mul(kept(negated(N - 1)), const(3, n.dtype)), loop(3, 1)), N * 3)
    assert not fits(kept(negated(N)), N)
    assert not fits(kept(negated(M)), N)
    assert not fits(kept(anything), N)
    assert not fits(Op.Cast(anything, arg=n.dtype), N)


def test_an_access_outside_is_refused() -> None:
    """The twin of the lowering: a load one too far, which the room for the greatest size would hide."""
    traced = every_size.traced(lambda x: x + 1, [f32(N)])
    made = split(numbered(callify(traced.outputs, [*traced.arguments, *traced.sizes.values()])))
    assert all(o.how == "proved at every size" for o in obligations(made.kernels, made.held))
    (argument,) = [b for b, size in made.held.items() if b.arg.slot == 0]
    shorter = {**made.held, argument: Op.Sub(as_node(made.held[argument]), as_node(1))}
    with pytest.raises(CompileError, match="cannot prove"):
        obligations(made.kernels, shorter)


def test_a_gate_is_used() -> None:
    n = N.as_uop
    zero, three = const(0, n.dtype), const(3, n.dtype)
    place = Op.Sub(loop(as_node(N + 5), 0), three)
    gate = Op.And(Op.CmpLe(zero, place), Op.CmpLt(place, n))
    assert not size_obligations.fits_at_every_size(place, n, None)
    assert size_obligations.fits_at_every_size(place, n, gate)
    strictly = Op.And(Op.CmpLt(const(-1, n.dtype), place), Op.CmpLt(place, n))
    assert size_obligations.fits_at_every_size(place, n, strictly)
    too_far = Op.And(Op.CmpLt(const(-2, n.dtype), place), Op.CmpLt(place, n))
    assert not size_obligations.fits_at_every_size(place, n, too_far)
    assert not size_obligations.fits_at_every_size(place, n, Op.CmpLe(zero, place))


def test_whatever_is_stored_a_size_is_in_its_bounds() -> None:
    """A kernel reads its size modulo the bounds, so that no wrong number in memory leads outside."""
    variable = N.as_uop
    for stored in (-(2**31), -1, 0, 1, 5, 12, 13, 2**31 - 1):
        size = every_size._read(variable, Op.Load(buffer(0, 1, int32)))
        value = evaluate(size, buffers={0: [stored]}).item()
        assert 1 <= value <= 12
        assert value == stored or not 1 <= stored <= 12


def test_threads_run_one_program_at_several_sizes() -> None:
    program = compile(lambda x: x.softmax(0).sum(1), f32(N, 3))
    given = [RNG.standard_normal((k, 3)).astype(np.float32) for k in (1, 5, 12)]
    wanted = [program(x) for x in given]
    wrong: list[int] = []

    def work(k: int) -> None:
        runs = (program(given[k]) for _ in range(50))
        wrong.extend(k for found in runs if found.tobytes() != wanted[k].tobytes())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize("name", ["softmax over n", "cat of n and 3", "inner size of a product", "costly"])
def test_its_stages_keep_their_invariants(name: str) -> None:
    apply, inputs = CASES[name]
    (unit,) = compile(apply, *inputs).units
    assert check_pipeline(unit.stages, unit.source, TARGET) == []


def test_such_a_program_can_be_looked_at() -> None:
    program = compile(lambda x: x.sum(0), f32(N, 3))
    assert "float32[n, 3]" in repr(program)
    assert "for (idx" in program.source
    assert str(program.explain())


# Schedules --------------------------------------------------------------------------------------------------------

LONG, WIDE = Variable("long", 1, 150), Variable("wide", 1, 70)
SCHEDULED: dict[str, tuple[Apply, tuple[Signature, ...], str]] = {
    "elementwise": (lambda x, y: x * y + 1, (f32(LONG), f32(LONG)), "UPCAST"),
    "two sizes that are one loop": (lambda x: abs(x) * 2, (f32(WIDE, LONG),), "UPCAST"),
    "two loops": (lambda x, y: x * 2 + y, (f32(3, LONG), f32(LONG)), "UPCAST"),
    "sums side by side": (lambda x: x.sum(0), (f32(5, LONG),), "UPCAST"),
    "the greatest of all": (lambda x: x.max(), (f32(LONG),), "GROUP_REDUCE"),
    "the sum of integers": (lambda x: x.sum(1), (Signature(int32, (2, LONG)),), "GROUP_REDUCE"),
    "a row of reductions": (lambda x: x.softmax(-1), (f32(2, LONG),), "UPCAST"),
    "rows of reductions": (lambda x: x.softmax(-1), (f32(WIDE, 16),), "UPCAST"),
    "a product of rows": (lambda x, w: x @ w, (f32(WIDE, 4), f32(4, 16)), "UPCAST"),
    "a product of columns": (lambda x, w: x @ w, (f32(3, 4), f32(4, LONG)), "UPCAST"),
}

ALONE = ("the greatest of all", "two loops", "a row of reductions", "a product of columns")
"""What is not dealt out: one element, and rows that lie a symbolic size apart, of which the law does not know it."""


@pytest.mark.parametrize("name", SCHEDULED)
@pytest.mark.parametrize("threads", [False, True], ids=["", "dealt out"])
def test_a_program_with_a_schedule_is_right_at_every_size(
    name: str, threads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is cut is cut everywhere: at sizes below, at and above a multiple of the lanes."""
    if threads:
        monkeypatch.setattr("soundline.impl.lower.schedule.threads.WORTH", 1)
        lower.cache_clear()
    apply, inputs, kind = SCHEDULED[name]
    program = compile(apply, *inputs)
    (unit,) = program.units
    axes = {n.arg.type.name for n in toposort(unit.stages["optimize"]) if n.op is Op.Range}
    assert kind in axes
    assert ("THREAD" in axes) == (threads and name not in ALONE)
    assert check_pipeline(unit.stages, unit.source, TARGET) == []
    used = variables(*(as_node(s) for i in inputs for s in i.shape))
    for size in (1, 7, 8, 23, 24, 63, 64, 65, 70):
        values = dict.fromkeys(used, size)
        given = arrays(inputs, values)
        found = program(*given)
        (wanted,) = law(apply, inputs, given, values)
        same(found, wanted)
    if threads:
        lower.cache_clear()


def test_loops_are_one_where_every_index_walks_them_as_one() -> None:
    n = N.as_uop
    p, q = loop(M.as_uop, 0), loop(n, 1)
    base = buffer(0, 1000, float32)

    def as_one(at: UOp) -> bool:
        return walked_as_one(Op.Store(Op.Index(base, at), const(1.0, float32)), p, q)

    assert as_one(Op.Add(Op.Mul(p, n), q))
    assert as_one(Op.Mul(Op.Add(Op.Mul(p, n), q), const(3, n.dtype)))
    assert not as_one(Op.Add(Op.Mul(p, M.as_uop), q))
    assert not as_one(Op.Mul(p, q))
    assert not as_one(Op.Add(Op.Mul(p, n), Op.Mod(q, const(2, n.dtype))))


def test_only_iterations_with_places_of_their_own_are_cut() -> None:
    n, base, value = N.as_uop, buffer(0, 1000, float32), const(1.0, float32)
    p, q = loop(M.as_uop, 0), loop(n, 1)

    def apart(at: UOp, stored: UOp = value) -> bool:
        return size_loops._stores_apart(closed(Op.Store(Op.Index(base, at), stored), [p, q]))

    own = Op.Add(Op.Mul(p, n), q)
    assert apart(own)
    assert not apart(q)
    assert not apart(Op.Add(Op.Mul(p, M.as_uop), q))
    assert not apart(own, Op.Load(Op.Index(base, own)))


def test_no_step_names_an_axis_of_symbolic_size() -> None:
    longest, lanes = loop(12, 0), loop(8, 1)
    place = Op.Index(buffer(0, 96, float32), Op.Add(Op.Mul(longest, const(8, lanes.dtype)), lanes))
    nest = closed(Op.Store(place, const(1.0, float32)), [longest, lanes])
    kernel = Scheduling(Op.Sink(nest), itertools.count(9), itertools.count(9), (), frozenset((longest,)))
    kernel.split(lanes, 4, AxisType.UPCAST)
    with pytest.raises(ScheduleError, match="an axis of symbolic size"):
        kernel.split(longest, 4, AxisType.UPCAST)


def test_the_bounds_of_inner_loops_are_computed_before_the_first_loop() -> None:
    """What is computed inside of a loop is out of reach for the nest that comes after it."""
    bound = Op.Add(
        Op.Cast(Op.Load(Op.Index(buffer(0, 1, int32), as_node(0))), arg=as_node(0).dtype), as_node(1)
    )
    nests = []
    for k in (0, 2):
        outer, inner = loop(4, k), loop(bound, k + 1)
        store = Op.Store(Op.Index(buffer(1 + k, 99, float32), outer), const(1.0, float32))
        nests.append(closed(store, [outer, inner]))
    (kernel,) = linearize(Op.Linear(Op.Sink(*nests))).src
    ops = [n.op for n in kernel.src]
    assert ops.index(Op.Add) < ops.index(Op.Range)
    assert ops.count(Op.Add) == 1


def test_nothing_is_packed_inside_of_loops_over_sizes() -> None:
    """A product that reads from far apart would be, at a known size: what is packed comes before all loops."""
    program = compile(lambda x, w: x @ w, f32(LONG, 300), f32(300, 512))
    (unit,) = program.units
    before, after = (
        {n for n in toposort(unit.stages[s]) if n.op is Op.Buffer} for s in ("rangeify", "optimize")
    )
    assert before == after
    x, w = arrays([f32(100, 300), f32(300, 512)], {})
    np.testing.assert_allclose(program(x, w), x @ w, rtol=1e-3, atol=1e-2)
