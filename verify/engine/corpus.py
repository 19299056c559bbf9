"""
What the engine is run on
=========================

Random graphs; the compositions of the law at several shapes, with the gradients of those that have one; and the models
of ONNX's own node tests, where onnx is installed. Compositions and models are taken twice: as tensors, and as the
kernels of loops and index arithmetic that lowering makes of them, in which the engine does most of its work.

Work is cut into *batches*, which a process can make for itself from a name.
"""

from __future__ import annotations

import functools
import importlib.util
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from soundline.impl.importers.reading.errors import UnsupportedModel, ValueNeeded
from soundline.impl.lower.callify import callify
from soundline.impl.lower.rangeify import rangeify
from soundline.spec.arrays.arrays import Array
from soundline.spec.compositions import tensors
from soundline.spec.dtypes import DType, float16, float32, float64, index, int8, int32, int64, uint8
from soundline.spec.errors import SoundlineError
from soundline.spec.gradients.backward import gradient
from soundline.spec.ops.node import Op, UOp, substitute, toposort
from soundline.spec.rules.language import Rule
from soundline.spec.uop import param
from soundline.verify.engine.random_graphs import random_graph

RANDOM, COMPOSED, ONNX = "random graphs", "compositions and gradients", "ONNX models"
SOURCES = (RANDOM, COMPOSED, ONNX)

SHORT = {"random": RANDOM, "compositions": COMPOSED, "onnx": ONNX}
"""The sources by the words of the command line."""

BATCH = {RANDOM: 100, COMPOSED: 12, ONNX: 24}
"""How many graphs one batch has."""


@dataclass(frozen=True)
class Graph:
    """A program to rewrite. `buffers` are contents with which it can be evaluated besides random ones."""

    name: str
    root: UOp
    buffers: dict[int, Any] = field(default_factory=dict)
    lowered: bool = False
    """Whether it is a kernel, which stores and has no value of its own."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A part of the corpus: a source, and which of its graphs."""

    source: str
    first: int
    count: int
    seed: int = 0


def batches(graphs: int, seed: int, sources: Sequence[str] = SOURCES) -> list[Batch]:
    """The whole corpus with so many random graphs, in batches."""
    known = {RANDOM: lambda: graphs, COMPOSED: lambda: len(_composed()), ONNX: lambda: len(_names())}
    found = []
    for source in sorted(sources, key=SOURCES.index, reverse=True):
        step, count = BATCH[source], known[source]()
        found += [Batch(source, k, min(step, count - k), seed) for k in range(0, count, step)]
    return found


def graphs_of(batch: Batch, rules: Sequence[Rule]) -> Iterator[Graph]:
    """The graphs of a batch."""
    for k in range(batch.first, batch.first + batch.count):
        if batch.source == RANDOM:
            made = random_graph(batch.seed, k, rules)
            yield Graph(made.name, made.root)
        elif batch.source == COMPOSED:
            name, root = _composed()[k]
            yield Graph(name, root)
            yield from _kernels(name, (root,))
        else:
            yield from _model(_names()[k])


def _kernels(name: str, roots: tuple[UOp, ...]) -> Iterator[Graph]:
    """The kernels that lowering makes of results, before any of them is simplified."""
    stored = tuple(r for r in roots if r.dtype is not index)
    if not stored:  # nothing of dtype index can be stored
        return
    try:
        made = rangeify(_function(stored))
    except SoundlineError:
        return
    for k, kernel in enumerate(made.src):
        yield Graph(f"{name}, kernel {k}", kernel, lowered=True)


def _function(roots: tuple[UOp, ...]) -> UOp:
    """Results as a Function; of those over Params, one that takes them."""
    params = sorted(
        {n for r in roots for n in toposort(r) if n.op is Op.Param}, key=lambda p: int(p.arg.slot)
    )
    if not params:
        return callify(roots, ())
    from soundline.impl.arrays import storage

    held = [
        storage.placeholder(p.dtype, tuple(int(s) for s in p.shape or () if isinstance(s, int)))
        for p in params
    ]
    replaced = {p: value for p, (_, value) in zip(params, held, strict=True)}
    return callify(tuple(substitute(r, replaced) for r in roots), tuple(b for b, _ in held))


# The compositions of the law --------------------------------------------------------------------------------------

_MATRICES = ((2, 3, 2), (1, 4, 3), (3, 1, 1), (2, 0, 2), (4, 4, 4))
_LENGTHS = (0, 1, 2, 5, 8)
_NUMBERS: tuple[DType, ...] = (float32, float16, float64, int32, int8, uint8)


@functools.cache
def _composed() -> tuple[tuple[str, UOp], ...]:
    """Every composition at several shapes and dtypes, and the gradients of the sums of those on floats."""
    found: list[tuple[str, UOp]] = []
    for dtype in _NUMBERS:
        for m, k, n in _MATRICES:
            a, b = param(0, dtype, (m, k)), param(1, dtype, (k, n))
            found += _with_gradients(f"gemm {dtype} {m}x{k}x{n}", tensors.gemm(a, b), (a, b))
        for length in _LENGTHS:
            t = param(0, dtype, (length,))
            found += _with_gradients(f"prefix_sum {dtype} {length}", tensors.prefix_sum(t), (t,))
            found += _looked_up(dtype, length)
        found += [(f"arange {dtype} {n}", tensors.arange(n, dtype)) for n in _LENGTHS]
    found += [(f"arange index {n}", tensors.arange(n, index)) for n in _LENGTHS]
    return tuple(found)


def _looked_up(dtype: DType, length: int) -> Iterator[tuple[str, UOp]]:
    table = param(0, dtype, (length,))
    for where in (int32, index, int64):
        idx, val = param(1, where, (3,)), param(2, dtype, (3,))
        name = f"{dtype} {length} by {where}"
        yield from _with_gradients(f"gather {name}", tensors.gather(table, idx), (table,))
        yield from _with_gradients(f"scatter_add {name}", tensors.scatter_add(table, idx, val), (table, val))


def _with_gradients(name: str, y: UOp, xs: tuple[UOp, ...]) -> Iterator[tuple[str, UOp]]:
    yield name, y
    if y.dtype.is_float:
        seed = param(9, y.dtype, y.shape or ())
        for k, g in enumerate(gradient(y, xs, seed)):
            yield f"{name}, gradient {k}", g


# ONNX -------------------------------------------------------------------------------------------------------------


def has_onnx() -> bool:
    """Whether ONNX's node tests are installed."""
    return importlib.util.find_spec("onnx") is not None


@functools.cache
def _cases() -> dict[str, Any]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {c.name: c for c in collect_testcases(None)}


@functools.cache
def _names() -> tuple[str, ...]:
    """The names of all cases; what cannot be imported is left out when it is met."""
    return tuple(sorted(_cases())) if has_onnx() else ()


def _model(name: str) -> Iterator[Graph]:
    case = _cases()[name]
    found = _imported(case)
    if found is None:
        return
    model, arguments = found
    held = {slot: Array.from_numpy(a) for slot, a in model.bindings(*arguments).items()}
    for k, root in enumerate(model.results):
        own = {n.arg.slot for n in toposort(root) if n.op is Op.Buffer}
        yield Graph(f"onnx {name}, result {k}", root, {s: a for s, a in held.items() if s in own})
    yield from _kernels(f"onnx {name}", model.results)


def _imported(case: Any) -> tuple[Any, list[Any]] | None:
    """The model of a case and its arguments; None where the importer refuses it."""
    from soundline.impl.importers.onnx import from_onnx

    inputs = _inputs(case)
    fixed: dict[str, Any] = {}
    while True:
        try:
            model = from_onnx(case.model, constants=fixed)
        except UnsupportedModel as error:
            needed = [n for n in error.needed if n in inputs and n not in fixed]
            if error.operators or not needed or not all(isinstance(n, ValueNeeded) for n in error.nodes):
                return None
            fixed |= {n: inputs[n] for n in needed}
        else:
            return model, [inputs[n] for n in model.inputs]


def _inputs(case: Any) -> dict[str, Any]:
    import onnx.numpy_helper

    (data,) = case.data_sets
    initialized = {i.name for i in case.model.graph.initializer}
    names = [i.name for i in case.model.graph.input if i.name not in initialized]
    values = [onnx.numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto) else v for v in data[0]]
    return dict(zip(names, values, strict=True))
