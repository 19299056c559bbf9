"""Functions that become Calls: compiled once, run at many sites, with the bits of those that are substituted."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soundline.impl import toolchain
from soundline.impl.arrays import storage
from soundline.impl.codegen.c.target import TARGET
from soundline.impl.compilation import linking
from soundline.impl.lower.graphs import calls
from soundline.impl.lower.graphs.calls import called_bodies, size_of
from soundline.impl.lower.linear.plan import layout
from soundline.impl.program import compile as compiling
from soundline.impl.program.compile import Program, compile  # noqa: A004
from soundline.impl.runtime.host import host
from soundline.impl.tensors.core.functions import function
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.errors import GradientError, IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.pipeline.stages import check_pipeline
from soundline.spec.uop import Op, toposort

RNG = np.random.default_rng(66)
LAYERS = 12


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [RNG.standard_normal(s).astype(np.float32) for s in shapes]


def law(x: Tensor) -> np.ndarray:
    """The evaluator's value, Functions, Calls and all."""
    held = {n.arg.slot: storage.contents(n) for n in toposort(x.uop) if n.op is Op.Buffer}
    return evaluate(x.uop, buffers=held).to_numpy()


def layer(x: Tensor, qkv: Tensor, up: Tensor, down: Tensor) -> Tensor:
    """A layer of a transformer, with one head and without biases."""
    q, k, v = (x.layer_norm() @ qkv).split(qkv.shape[1] // 3, axis=1)
    x = x + (q @ k.T / 2.0).softmax(-1) @ v
    return x + (x.layer_norm() @ up).relu() @ down


def transformer(apply: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def model(x: Tensor, *weights: Tensor) -> Tensor:
        for k in range(0, len(weights), 3):
            x = apply(x, *weights[k : k + 3])
        return x

    return model


def weights(count: int) -> list[np.ndarray]:
    return arrays(*((4, 12), (4, 8), (8, 4)) * count)


def same(found: Any, wanted: Any) -> None:
    """Bit for bit."""
    rows = zip(found, wanted, strict=True) if isinstance(found, tuple) else [(found, wanted)]
    for a, b in rows:
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def kernels_in(program: Program) -> int:
    return len(re.findall(r"^static .*void kernel_\d+\(", program.source, re.MULTILINE))


def both(fn: Callable[..., Any], *examples: np.ndarray) -> tuple[Program, Program]:
    """A program whose functions are all Calls, and one that has substituted all: `fn` is given the decorator."""
    apart = compile(fn(function(inline=False)), *examples)
    within = compile(fn(function(inline=True)), *examples)
    assert len(within.units) == 1
    same(apart(*examples), within(*examples))
    return apart, within


# Compiled once ----------------------------------------------------------------------------------------------------


def test_equal_layers_are_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    x, given = arrays((3, 4))[0], weights(LAYERS)
    host()
    runs: list[Path] = []
    true = toolchain.Compiler.build
    monkeypatch.setattr(toolchain.Compiler, "build", lambda c, s, t: (runs.append(s), true(c, s, t))[1])
    monkeypatch.setenv("SOUNDLINE_CACHE_DIR", str(tmp_path))
    program = compile(transformer(function(layer)), x, *given)
    assert len(runs) == 1
    once = compile(transformer(function(inline=False)(layer)), x, *given[:3])
    assert len(runs) == 1  # the text of one layer is that of twelve
    assert len(program.units) == 1
    assert len(program.kernels) == kernels_in(program) == len(once.kernels) == once.command_count
    assert program.command_count == LAYERS * once.command_count
    found = x
    for k in range(0, len(given), 3):
        found = once(found, *given[k : k + 3])
    same(program(x, *given), found)


def test_few_layers_have_the_value_of_the_law() -> None:
    x, given = arrays((3, 4))[0], weights(2)
    value = transformer(function(inline=False)(layer))(Tensor(x), *map(Tensor, given))
    program = compile(transformer(function(inline=False)(layer)), x, *given)
    assert len(program.units) == 1
    same(program(x, *given), law(value))
    same(value.numpy(), law(value))


# The choice -------------------------------------------------------------------------------------------------------


def chain(length: int, uses: int, inline: bool | None = None) -> Tensor:
    """A function of `length` operations, applied `uses` times."""

    @function(inline=inline)
    def f(x: Tensor) -> Tensor:
        for k in range(length):
            x = x * x if k % 2 else x + x
        return x

    x = Tensor(np.ones(3, np.float32))
    for _ in range(uses):
        x = f(x)
    return x


@pytest.mark.parametrize(
    ("length", "uses", "becomes"),
    [(64, 1, 0), (64, 2, 1), (63, 2, 0), (32, 3, 1), (31, 3, 0), (6, 12, 1), (5, 12, 0)],
    ids=str,
)
def test_size_and_uses_decide(length: int, uses: int, becomes: int) -> None:
    x = chain(length, uses)
    (body,) = {s.src[0] for s in calls.sites([x.uop])} if uses == 1 else {x.uop.src[0].src[0]}
    assert size_of(body) == length
    assert ((uses - 1) * length >= calls.SPARED) is bool(becomes)
    assert len(called_bodies([x.uop])) == becomes


def test_who_made_it_has_the_last_word() -> None:
    assert len(called_bodies([chain(1, 1, inline=False).uop])) == 1
    assert not called_bodies([chain(64, 12, inline=True).uop])


def test_sites_inside_a_call_are_counted_once_each() -> None:
    """What a Call applies is compiled with it, however often the Call runs; what is substituted counts at each site."""

    def nested(outer_inline: bool) -> int:
        @function
        def inner(x: Tensor) -> Tensor:
            for _ in range(20):
                x = x + x
            return x

        @function(inline=outer_inline)
        def outer(x: Tensor) -> Tensor:
            return inner(x) * x

        x = Tensor(np.ones(2, np.float32))
        for _ in range(5):
            x = outer(x)
        return len(called_bodies([x.uop]))

    assert nested(outer_inline=False) == 1  # outer alone: inner has one site in it
    assert nested(outer_inline=True) == 1  # inner alone, at five sites


# Forms ------------------------------------------------------------------------------------------------------------


def test_results_and_arguments_of_every_kind() -> None:
    a, b = arrays((3, 4), (4, 3))

    def fn(mark: Any) -> Any:
        @mark
        def f(x: Tensor, y: Tensor, unused: Tensor) -> tuple[Tensor, ...]:
            return x @ y, x, (x > 0), x.sum(1), x + 1

        def program(a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
            c, same_, positive, sums, more = f(a, b, a.exp())  # a result that is an argument
            d, *_ = f(b.T, a.T, b)  # arguments that are only moved
            e, *_ = f(c, c, c)  # a result as several arguments
            return c, c, same_, positive, sums, more.T, d * 2, e, c.reshape(9), positive.where(c[:, :1], 0)

        return program

    apart, _ = both(fn, a, b)
    assert len(apart.units) > 1


def test_functions_call_functions() -> None:
    (x,) = arrays((4, 4))

    def fn(mark: Any) -> Any:
        outside = Tensor(np.eye(4, dtype=np.float32) * 2)

        @mark
        def inner(a: Tensor) -> Tensor:
            return (a @ outside).relu()

        @mark
        def middle(a: Tensor) -> tuple[Tensor, Tensor]:
            return inner(a) + a, inner(inner(a.T))

        @mark
        def outer(a: Tensor) -> Tensor:
            b, c = middle(a)
            return middle(b * c)[1] - b

        return lambda a: (outer(a), outer(outer(a) + 1), inner(a))

    apart, _ = both(fn, x)
    inner_runs, middles, outers = 3, 2, 3
    assert apart.command_count >= outers * middles * inner_runs


def test_one_that_is_called_and_one_that_is_substituted_live_together() -> None:
    (x,) = arrays((4, 4))

    @function(inline=False)
    def apart(a: Tensor) -> Tensor:
        return (a @ a).relu()

    @function(inline=True)
    def within(a: Tensor) -> Tensor:
        return apart(a + 1) * 2

    program = compile(lambda a: within(apart(a)) + within(a), x)
    plain = compile(
        lambda a: ((((a @ a).relu() + 1) @ ((a @ a).relu() + 1)).relu() * 2) + ((a + 1) @ (a + 1)).relu() * 2,
        x,
    )
    same(program(x), plain(x))
    assert any("Call" in str(n.op) for n in toposort(program.stages["callify"])) is False


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (1, 1)], ids=str)
def test_empty_and_single_values_pass(shape: tuple[int, ...]) -> None:
    x = np.ones(shape, np.float32)

    def fn(mark: Any) -> Any:
        f = mark(lambda a: (a + 1, a.sum()))
        return lambda a: f(f(a)[0] * 2)

    both(fn, x)


def test_a_call_as_a_node_is_compiled_as_one() -> None:
    """A Call of a Tuple is a Call, whoever made it; nothing is differentiated through it."""
    x = Tensor(np.arange(6, dtype=np.float32))
    body = function(lambda a: a * a + 1).steps(x).node.src[0]
    y = Tensor.of(Op.GetTuple(Op.Call(body, x.uop), arg=0))
    z = Tensor.of(Op.GetTuple(Op.Call(body, y.uop), arg=0))
    with pytest.raises(GradientError, match="opaque"):
        z.sum().gradient(x)
    same(z.numpy(), law(z))
    with pytest.raises(IllFormed):
        Op.Call(body, Tensor(np.zeros(5, np.float32)).uop)


# Gradients --------------------------------------------------------------------------------------------------------


def test_gradients_pass_through_both() -> None:
    x, *given = arrays((3, 4), (4, 5), (5, 4), (4, 5), (5, 4))

    def fn(mark: Any) -> Any:
        f = mark(lambda x, up, down: x + (x @ up).relu() @ down)

        def step(x: Tensor, *ws: Tensor) -> tuple[Tensor, ...]:
            loss = (f(f(x, ws[0], ws[1]), ws[2], ws[3]) ** 2).mean()
            return (loss, *loss.gradient(*ws))

        return step

    apart, within = both(fn, x, *given)
    assert len(apart.kernels) < apart.command_count
    assert len(within.kernels) == within.command_count


def test_backward_of_a_called_function_is_called_too() -> None:
    w = Tensor(arrays((4, 4))[0], requires_grad=True)
    f = function(inline=False)(lambda a, b: (a @ b).relu() * a)
    loss = f(f(Tensor(arrays((4, 4))[0]), w), w).sum()
    loss.backward()
    assert w.grad is not None
    assert called_bodies([w.grad.uop]) >= called_bodies([loss.uop])
    same(w.grad.numpy(), law(w.grad))


# Memory -----------------------------------------------------------------------------------------------------------


def overlaps(lives: list[tuple[int, int, int]], offsets: list[int]) -> bool:
    """Whether two that live at once share a byte."""
    rows = list(zip(lives, offsets, strict=True))
    return any(
        a is not b and a[0] and b[0] and p < q + b[0] and q < p + a[0] and a[1] <= b[2] and b[1] <= a[2]
        for k, (a, p) in enumerate(rows)
        for b, q in rows[:k]
    )


def test_what_lives_at_once_lies_apart() -> None:
    for _ in range(50):
        starts = RNG.integers(0, 8, 12)
        lives = [(int(RNG.integers(0, 500)), int(s), int(s + RNG.integers(0, 4))) for s in starts]
        offsets, size = layout(lives)
        assert not overlaps(lives, offsets)
        assert all(o % 64 == 0 and o + n <= size for (n, _, _), o in zip(lives, offsets, strict=True))
        assert size <= sum(-(-n // 64) * 64 for n, _, _ in lives)
    assert overlaps([(8, 0, 1), (8, 1, 2)], [0, 0])  # the twin
    assert layout([(64, 0, 0), (64, 1, 1), (64, 2, 2)])[1] == 64


def dag(mark: Any, seed: int) -> Callable[..., Any]:
    """A random program of calls, whose results are used near and far."""
    rng = np.random.default_rng(seed)
    plan = [(int(rng.integers(3)), *map(int, rng.integers(0, k + 2, 2))) for k in range(10)]
    kept = [int(k) for k in rng.integers(2, 12, 3)]
    fs = [
        mark(lambda a, b: (a @ b).tanh()),
        mark(lambda a, b: (a - b).softmax(0)),
        mark(lambda a, b: (a.sum(0) + b.T) * 0.5),
    ]

    def program(a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
        values = [a, b]
        for which, i, j in plan:
            values.append(fs[which](values[i], values[j].T) + values[j])
        return tuple(values[k] for k in kept)

    return program


@pytest.mark.parametrize("seed", range(3))
def test_lifetimes_are_right_across_calls(seed: int) -> None:
    a, b = arrays((5, 5), (5, 5))
    apart, _ = both(lambda mark: dag(mark, seed), a, b)
    assert apart.command_count > len(apart.kernels)


def test_a_layout_that_ignores_lives_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant of the plan: everything at the start of the arena."""
    a, b = arrays((5, 5), (5, 5))
    monkeypatch.setattr(linking, "layout", lambda lives: ([0] * len(lives), max(n for n, _, _ in lives)))
    apart = compile(dag(function(inline=False), 1), a, b)
    monkeypatch.undo()
    within = compile(dag(function(inline=True), 1), a, b)
    pairs = zip(apart(a, b), within(a, b), strict=True)
    assert any(x.tobytes() != y.tobytes() for x, y in pairs)


def test_memory_does_not_grow_with_the_layers() -> None:
    x = arrays((3, 4))[0]
    few, many = (compile(transformer(function(inline=False)(layer)), x, *weights(n)) for n in (3, 12))
    assert few._arena == many._arena > 0


# What is said of it -----------------------------------------------------------------------------------------------


def test_the_certificate_speaks_of_every_unit() -> None:
    (x,) = arrays((4, 4))
    f = function(inline=False)(lambda a: (a @ a).relu())
    program = compile(lambda a: f(f(a)).sum(0).cumsum(0), x)
    assert len(program.units) > 1
    assert {o.kernel for o in program.certificate.obligations} == set(range(len(program.kernels)))
    assert "commands over" in program.explain()
    assert set(program.stages) == set(compiling.STAGES) - {"render"}
    assert kernels_in(program) == len(program.kernels)


def test_every_unit_keeps_the_invariants_of_the_stages() -> None:
    x, given = arrays((3, 4))[0], weights(1)
    program = compile(lambda x, *ws: function(inline=False)(layer)(x + 1, *ws).sum(0), x, *given)
    assert len(program.units) == 3
    for unit in program.units:
        assert check_pipeline(unit.stages, unit.source, TARGET) == []


def test_threads_run_one_program_with_calls() -> None:
    x, given = arrays((3, 4))[0], weights(4)
    program = compile(transformer(function(inline=False)(layer)), x, *given)
    inputs = [arrays((3, 4))[0] for _ in range(4)]
    wanted = [program(i, *given) for i in inputs]
    wrong: list[int] = []

    def work(k: int) -> None:
        runs = (program(inputs[k], *given).tobytes() for _ in range(50))
        wrong.extend(k for found in runs if found != wanted[k].tobytes())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_without_the_readable_layout_of_arrays_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x, given = arrays((3, 4))[0], weights(2)
    fast = compile(transformer(function(inline=False)(layer)), x, *given)(x, *given)
    monkeypatch.setattr(host(), "layout", None)
    same(compile(transformer(function(inline=False)(layer)), x, *given)(x, *given), fast)
