"""One thing broken in a stage of the compiler, and the invariant of that stage sees it; in the text, its values do."""

from __future__ import annotations
import __future__

import contextlib
import importlib
import inspect
import math
import operator
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import soundline as sl
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.uop import Op, ReduceArg, UOp, broadcast_to, const, pad, shrink

from ..representative import of_each_family  # noqa: TID252

sys.path.insert(0, str(Path(__file__).parent.parent / "property"))
from small_machine import features, small_machine, traced


def floats(*shape: int, dtype: type = np.float32) -> Tensor:
    """Numbers of which no two are alike, and whose sums depend on their order."""
    count = math.prod(shape)
    values = np.random.default_rng(count).standard_normal(count) * 10.0 ** (np.arange(count) % 4)
    return Tensor(values.reshape(shape).astype(dtype))


def nested() -> Tensor:
    """A short reduction of a reduction, which becomes lanes."""
    inner = Op.Reduce(floats(3, 4, 6).uop, arg=ReduceArg(Op.Add, (2,)))
    return Tensor.of(Op.Reduce(inner, arg=ReduceArg(Op.Add, (1,))))


def sum_of_sums() -> Tensor:
    """Products of rows, summed along one axis and then along another: tiles in which one sum runs inside the other."""
    products = floats(3, 1, 2, 3) * floats(1, 5, 2, 3)
    inner = Op.Reduce(products.uop, arg=ReduceArg(Op.Add, (2,)))
    return Tensor.of(Op.Reduce(inner, arg=ReduceArg(Op.Add, (3,))))


def two() -> tuple[Tensor, Tensor]:
    """Two results of two arguments of one shape."""
    a, b = floats(5), Tensor(np.arange(5, dtype=np.float32))
    return a * 3 + b, b * 2


def repeated() -> tuple[Tensor, ...]:
    """What is made of a value that is the same along an axis, and may not be the same along one any more."""
    column = floats(3, 1).expand(3, 4).exp2()
    spread = column.pad(((0, 0), (1, 0))) * 2
    return (
        (column + floats(3, 4)) * 3,
        column.T * floats(4, 3),
        spread,
        column.reshape(6, 2) + 1,
        column.sum(0),
    )


def border(x: UOp) -> UOp:
    """Which elements of the rows from the second on are small, with a border of False."""
    inner = shrink(x, (1, 0), (3, 3))
    return pad(Op.CmpLt(inner, broadcast_to(const(10.0, inner.dtype), (3, 3))), (1, 0), (4, 5))


PROGRAMS: dict[str, Callable[[], tuple[Tensor, ...]]] = {
    "product": lambda: (floats(4, 2) @ floats(2, 10),),
    "product and nothing": lambda: (floats(4, 2) @ floats(2, 10), floats(3)[3:]),
    "reduction in a product": lambda: (floats(2, 4, 8).sum(0) @ floats(8, 7),),
    "rows": lambda: (floats(3, 2) @ floats(2, 13),),
    "epilogue": lambda: ((floats(3, 2) @ floats(2, 9) + floats(9)).relu(),),
    "padded": lambda: (floats(3, 2).pad(((1, 0), (0, 1))) @ floats(3, 9),),
    "softmax": lambda: (floats(3, 5).softmax(),),
    "temporaries": lambda: ((floats(2, 4).softmax() @ floats(4, 3)).softmax(),),
    "transpose": lambda: (floats(5, 4).T.contiguous(),),
    "views": lambda: (floats(2, 3, 4).permute(2, 0, 1).reshape(6, 4).pad(((1, 0), (0, 2)))[::-1, ::3],),
    "greatest": lambda: (Tensor((np.arange(21) * 3 - 30).astype(np.int8)).max(),),
    "sum": lambda: (floats(11).sum(),),
    "nested": lambda: (nested(),),
    "zeros": lambda: (Tensor(np.full((3, 5), -0.0, np.float32)).sum(1),),
    "quotient": lambda: (Tensor(np.arange(-4, 4, dtype=np.int32)) // 3,),
    "two of one": lambda: (floats(4), floats(4) * 2 - floats(4).sum()),
    "stacked": lambda: (Tensor.stack(floats(3), floats(3) * 3, floats(3) + 1)[1:],),
    "bytes": lambda: (
        Tensor.of(Op.Bitcast(floats(6).uop, arg=Tensor(np.uint8(0)).dtype)).reshape(4, 6).T.contiguous(),
    ),
    "empty": lambda: (floats(0, 3).sum(0), floats(3) + 1),
    "selected": lambda: ((floats(9) > 0).where(floats(9), 1.5).contiguous().sum(),),
    "added": lambda: (floats(2, 3) + floats(2, 3),),
    "running": lambda: (floats(5, 6).cumsum(1),),
    "from the end": lambda: (floats(5, 6).flip(1).cumsum(1).flip(1),),
    "broadcast": lambda: (floats(4, 5) * floats(4, 1),),
    "narrowed": lambda: ((floats(3, 2) @ floats(2, 9) / 1000).cast(sl.int16),),
    "two": two,
    "any and all": lambda: ((floats(5, 9) > 3).any(1), (floats(5, 9) < 40).all(0)),
    "repeated": repeated,
    "border": lambda: (Tensor.of(border(floats(4, 3).uop)),),
    "sum of sums": lambda: (sum_of_sums(),),
    "both axes": lambda: (Tensor.of(Op.Reduce(floats(5, 5).uop, arg=ReduceArg(Op.Add, (0, 1)))),),
    "moments": lambda: (floats(4, 7).var(1),),
    "mean of squares": lambda: ((floats(3, 6) * floats(3, 6)).mean(),),
}


@dataclass(frozen=True)
class Mutant:
    """A function of a stage with one thing changed, and a program that shows it."""

    stage: str
    program: str
    function: str
    """Its module, under ``soundline.impl`` if it is not the law's, and its name there."""
    old: str
    new: str
    rule: str = ""
    """The condition that is broken, where it is not the one on values."""

    def __str__(self) -> str:
        return f"{self.stage}-{self.function.partition(':')[2]}-{self.program}"


M = Mutant
MUTANTS = [
    # Callify
    M("callify", "two", "lower.callify:callify", "enumerate(storages)}", "enumerate(storages[::-1])}"),
    M("callify", "two", "lower.callify:inlined", "for r in roots]", "for r in roots][:1] * len(roots)"),
    M(
        "callify",
        "softmax",
        "lower.graphs.simplify:_ungated",
        "if gate.op is Op.Const",
        "if gate.op is not Op.Const",
        "any",
    ),
    # Rangeify
    M("rangeify", "border", "lower.rangeify:_Rangeifier.scalar", "if gate is None else", "if True else"),
    M(
        "rangeify",
        "views",
        "lower.graphs.readings:loaded",
        "if view.gate is None else",
        "if True else",
        "CompileError",
    ),
    M(
        "rangeify",
        "views",
        "analysis.arithmetic:Coordinate.__sub__",
        "sub(self.node, other)",
        "sub(self.node, other + 1)",
    ),
    M(
        "rangeify",
        "views",
        "analysis.arithmetic:Coordinate.__rsub__",
        "number(other)",
        "number(other - 1)",
        "CompileError",
    ),
    M("rangeify", "border", "analysis.arithmetic:Coordinate.__add__", "node_of(other)", "number(0)"),
    M("rangeify", "views", "lower.graphs.views:Coordinates.digits", "sizes)", "sizes[::-1])", "any"),
    M("rangeify", "views", "lower.graphs.views:Coordinates.every", "both, conditions", "both, ()", "any"),
    M(
        "rangeify",
        "transpose",
        "lower.graphs.views:_given",
        "(terms(node.src[0].shape),), node.arg,",
        "(terms(node.src[0].shape),), node.arg and node.arg[::-1],",
    ),
    M(
        "rangeify",
        "stacked",
        "lower.graphs.views:selected",
        "arithmetic.number(k)",
        "arithmetic.number(k + 1)",
    ),
    M("rangeify", "bytes", "lower.graphs.readings:part_of_bitcast", "arithmetic.mod(", "arithmetic.div("),
    M("rangeify", "empty", "lower.graphs.outputs:without_empty_parts", "empty=True", "empty=False"),
    M(
        "rangeify",
        "temporaries",
        "lower.rangeify:_Rangeifier.nests",
        "found.append(",
        "found.insert(0, ",
        "stage-rangeify-c4",
    ),
    M(
        "rangeify",
        "both axes",
        "lower.rangeify:_Rangeifier.reduced_view",
        "sorted(node.arg.axes)",
        "sorted(node.arg.axes)[::-1]",
    ),
    M(
        "rangeify",
        "two of one",
        "lower.graphs.outputs:distinct",
        "node = Op.Contiguous(node)",
        "node = Op.Neg(node)",
    ),
    M("rangeify", "repeated", "lower.graphs.repeated:_axes_of", "frozenset.intersection", "frozenset.union"),
    M("rangeify", "repeated", "lower.graphs.repeated:_axes_of", "if axis in own", "if k in own"),
    M(
        "rangeify",
        "repeated",
        "lower.graphs.repeated:_axes_of",
        "return own - {k for k, (old, new) in enumerate(sizes) if old != new}",
        "return own",
    ),
    M("rangeify", "repeated", "lower.graphs.repeated:_reshaped", "if all(", "if any("),
    M(
        "rangeify",
        "repeated",
        "lower.rangeify:_stored",
        "kernel.shape",
        "kernel.node.shape",
        "CompileError",
    ),
    # Optimize
    M(
        "optimize",
        "reduction in a product",
        "lower.schedule.extensions:packable",
        " <= {*around, *reduced}",
        "",
        "IllFormed",
    ),
    M(
        "optimize",
        "product and nothing",
        "lower.optimize:optimized",
        "max((temporaries or 0, *taken))",
        "max(taken)",
        "stage-optimize-c3",
    ),
    M(
        "optimize",
        "any and all",
        "lower.schedule.any_reductions:_counted",
        "{greatest: Op.Reduce(chosen, first, *others, arg=greatest.arg)}",
        "{greatest: chosen}",
        "any",
    ),
    M(
        "optimize",
        "any and all",
        "lower.schedule.any_reductions:_counted",
        "scans.mask_as_choice, greatest.src[0])",
        "scans.mask_as_choice, Op.Cast(body, arg=greatest.dtype))",
    ),
    M(
        "optimize",
        "rows",
        "lower.schedule.tiles:split",
        "count % lanes if count > lanes else 0",
        "0",
        "opt-split-c1",
    ),
    M(
        "optimize",
        "rows",
        "lower.schedule.extensions:_cut",
        "axis: Op.Add(rest, arithmetic.number(at))",
        "axis: Op.Add(rest, arithmetic.number(at - 1))",
    ),
    M(
        "optimize",
        "rows",
        "lower.schedule.extensions:_cut_nests",
        "effects.append(closed(substitute(body, own), ends))",
        "effects.append(effects[-1])",
        "opt-split-c2",
    ),
    M(
        "optimize",
        "greatest",
        "lower.schedule.extensions:_cut_reductions",
        "UOp(Op.Reduce, (after, *ranges), node.arg)",
        "substitute(over(node, src), {axis: first})",
    ),
    M(
        "optimize",
        "greatest",
        "spec.kernels.optops:_grouped",
        "ReduceArg(node.arg.op)",
        "ReduceArg(Op.Add)",
    ),
    M(
        "optimize",
        "transpose",
        "spec.kernels.optops:_split",
        "as_node(size_of(inner))), inner)",
        "as_node(size_of(inner) - 1)), inner)",
        "opt-cut-c3",
    ),
    M(
        "optimize",
        "padded",
        "spec.kernels.optops:_split",
        "(count // factor, axis",
        "(count // factor - 1 or 1, axis",
    ),
    M(
        "optimize",
        "greatest",
        "spec.kernels.optops:_split",
        "as_node(size_of(inner))",
        "as_node(size_of(outer))",
    ),
    M(
        "optimize",
        "padded",
        "spec.kernels.optops:_split",
        "(new, rest) if top",
        "(new, rest) if not top",
        "opt-pack-c1",
    ),
    M(
        "optimize",
        "product",
        "spec.kernels.optops:_renested",
        "*_exchanged(node.src[1:], first, last)",
        "*node.src[1:]",
        "opt-cpu-c4",
    ),
    M(
        "optimize",
        "product",
        "lower.schedule.extensions:_copied",
        "substitute(load, own)",
        "substitute(load, {**own, order[0]: own[order[-1]]})",
    ),
    M(
        "optimize",
        "padded",
        "lower.schedule.extensions:_copied",
        "substitute(load, own)",
        "Op.Load(substitute(load, own).src[0])",
    ),
    M("optimize", "product", "lower.schedule.applying:launched", "(*copies, *sink.src)", "sink.src", "any"),
    M(
        "optimize",
        "product",
        "lower.schedule.applying:launched",
        "[*(Op.Sink(n) for n in apart), *([Op.Sink(*rest)] if rest else [])]",
        "[*([Op.Sink(*rest)] if rest else []), *(Op.Sink(n) for n in apart)]",
        "stage-optimize-c3",
    ),
    M("optimize", "sum", "lower.schedule.applying:launched", "if rest else []", "if not rest else []"),
    M(
        "optimize",
        "transpose",
        "lower.schedule.applying:without_single",
        "zero_ = arithmetic.number(0)",
        "zero_ = arithmetic.number(1)",
    ),
    M(
        "optimize",
        "added",
        "lower.schedule.extensions:_merge",
        "trip_count(inner), AxisType",
        "trip_count(inner) - 1, AxisType",
    ),
    M(
        "optimize",
        "broadcast",
        "lower.graphs.loops:walked_as_one",
        "polynomial(next_row) != polynomial(past_row)",
        "False",
    ),
    M(
        "optimize",
        "sum",
        "lower.schedule.heuristics:_order_is_free",
        "reduction.arg.op is Op.Max",
        "reduction.arg.op in (Op.Max, Op.Add)",
        "opt-cut-c4",
    ),
    M(
        "optimize",
        "running",
        "lower.schedule.threads:may_be_dealt_out",
        "runs_along(f, r) for f in reductions",
        "False for f in reductions",
        "any",
    ),
    M("optimize", "running", "lower.linear.scans:_rows", "arithmetic.number(first)", "arithmetic.number(0)"),
    # Expand
    M("expand", "nested", "lower.linear.expand:_Lanes.reduced", "tuple(own)", "tuple(own[:0])", "IllFormed"),
    M(
        "expand",
        "nested",
        "lower.linear.expand:_Lanes.numbers",
        "map(arithmetic.number, range(size))",
        "map(arithmetic.number, reversed(range(size)))",
    ),
    M("expand", "padded", "lower.linear.expand:_Lanes.loaded", "*(self.flat(r) for r in rest)", ""),
    M(
        "expand",
        "epilogue",
        "lower.linear.expand:_Lanes.effect",
        "if not is_lane(r)",
        "if not is_lane(r) and r is not self.ranges[0]",
        "any",
    ),
    # Instruction selection
    M(
        "select",
        "quotient",
        "lower.instructions:decomposed",
        "decompositions(target, frozenset(licences))",
        "[replace(r, given=()) for r in decompositions(target, frozenset(licences))]",
    ),
    M(
        "select",
        "softmax",
        "lower.select:_selected",
        "DECOMPOSITIONS[node.op](*src)",
        "src[0]",
    ),
    M(
        "select",
        "two",
        "lower.select:select",
        "_selected(kernel, target, licences, applied)",
        "_selected(kernel, type(target)(target.ops | {Op.Mulacc}), ['contract'], applied)",
        "stage-select-c2",
    ),
    M("select", "product", "lower.schedule.vectors:Affine.at", "s * p for", "s * (p > 0) for"),
    M(
        "optimize",
        "sum of sums",
        "lower.schedule.extensions:_copied",
        "[*reduced, *inside]",
        "[*reduced[1:], *inside]",
        "any",
    ),
    M("select", "rows", "lower.schedule.vectors:cuts", "min(start, size - width)", "start"),
    M(
        "select",
        "rows",
        "lower.schedule.vectors:_Cutting.stores",
        "place[:-1] == end[:-1] and place < end",
        "False",
        "any",
    ),
    M(
        "select",
        "product",
        "lower.schedule.vectors:cuts",
        "range(0, size, width)",
        "range(0, size - width, width)",
    ),
    M(
        "select",
        "narrowed",
        "lower.schedule.vectors:_Cutting.joined",
        "self.places(axes, reduction.dtype, again=True)",
        "[((0, *p[1:]), w) for p, w in self.places(axes, reduction.dtype)]",
    ),
    M(
        "select",
        "product",
        "lower.schedule.vectors:_Cutting._before_expand",
        "0 if n == 1 else p for",
        "0 for",
    ),
    # Linearize
    M("linearize", "zeros", "lower.graphs.scalars:identity_of", "reduction.neutral(", "reduction.identity("),
    M(
        "linearize",
        "softmax",
        "lower.linear.linearize:_Linearizer.hoist",
        "<= self.open.keys()",
        "<= {*self.open, *arithmetic.ranges_of(node)}",
        "any",
    ),
    M(
        "linearize",
        "product",
        "lower.linear.linearize:_Linearizer.stepped",
        "(before, *found)",
        "(found[0], *found)",
    ),
    M(
        "linearize",
        "softmax",
        "lower.linear.linearize:_Linearizer.started",
        "identity_of(node.arg.op",
        "identity_of(Op.Mul",
    ),
    # Register/Memory Plan
    M(
        "plan",
        "temporaries",
        "lower.linear.plan:placements",
        "(position, 0))[0], position)",
        "(position, 0))[0], 0)",
        "stage-plan-c3",
    ),
    M(
        "plan",
        "temporaries",
        "lower.linear.plan:layout",
        "p[2] <= last and first <= p[3]",
        "False",
        "stage-plan-c3",
    ),
    M("plan", "temporaries", "lower.linear.plan:layout", "max(offsets[k], end)", "begin", "stage-plan-c3"),
    M(
        "plan",
        "temporaries",
        "lower.linear.plan:plan",
        "SliceArg(p.storage.arg.size",
        "SliceArg(p.storage.arg.size - 1",
        "any",
    ),
    # Render
    M("render", "nested", "codegen.c.renderer:_loop", "{name} = 0;", "{name} = 1;"),
    M("render", "softmax", "codegen.c.renderer:_ends", '"(core + 1)"', '"core"'),
    M(
        "render",
        "two",
        "codegen.c.renderer:render",
        "for n, k in enumerate(kernels))",
        "for n, k in enumerate(kernels[:1] * len(kernels)))",
        "stage-render-c2",
    ),
    M("render", "border", "codegen.c.kernel:Kernel.load", "? {value}", "? {alternative}"),
    M(
        "render",
        "greatest",
        "codegen.c.lanes:reduction",
        "kernel.operand(identity_of(node.arg.op, node.dtype))",
        "'99'",
    ),
    M(
        "render",
        "transpose",
        "codegen.c.lanes:_loops",
        "else size.get(axis, 1)",
        "else size.get(axis, 1) - 1",
    ),
    M("render", "product", "codegen.c.vectors:_expression", "op]} {v[1]}", "op]} {v[0]}"),
    M("render", "product", "codegen.c.vectors:_address", " + {kernel.operand(first)}", ""),
    M("render", "zeros", "codegen.c.expressions:Expressions._float_literal", 'f"({text})"', "text[1:]"),
    M(
        "render",
        "selected",
        "codegen.c.expressions:Expressions._chosen",
        "? {v[1]} : {v[2]}",
        "? {v[2]} : {v[1]}",
    ),
    M(
        "render",
        "greatest",
        "codegen.c.expressions:Expressions._maximum",
        "{v[0]} > {v[1]}",
        "{v[0]} < {v[1]}",
    ),
    M(
        "render",
        "bytes",
        "codegen.c.expressions:Expressions._shifted_right",
        "{v[0]} >> (u",
        "{v[0]} >> 1 + (u",
    ),
]


@contextlib.contextmanager
def broken(mutant: Mutant) -> Iterator[None]:
    """The function with its code changed, for all who have imported it."""
    module, _, name = mutant.function.partition(":")
    room = "soundline" if module.startswith("spec.") else "soundline.impl"
    function = operator.attrgetter(name)(importlib.import_module(f"{room}.{module}"))
    text = textwrap.dedent(inspect.getsource(function))
    assert text.count(mutant.old) >= 1, f"{function.__qualname__} has no {mutant.old!r}"
    namespace = dict(function.__globals__)
    changed = text.replace(mutant.old, mutant.new)
    exec(compile(changed, str(mutant), "exec", __future__.annotations.compiler_flag), namespace)
    kept, function.__code__ = function.__code__, namespace[function.__name__].__code__
    try:
        yield
    finally:
        function.__code__ = kept


def outcome(mutant: Mutant) -> set[str]:
    """Which conditions the mutant breaks, those of steps of a schedule that were therefore not done, or the name of the
    error with which it ends.
    """
    with small_machine("narrow"), broken(mutant):
        try:
            program = traced(*(t.uop for t in PROGRAMS[mutant.program]()))
            found = {v.rule for v in program.violations()}
            refused = " ".join(s.refused for s in program.lowered().schedules)
            found |= set(re.findall(r"\[([\w-]+)\]", refused))
            if mutant.stage == "render" and not found and program.differences():
                found = {"stage-render-value"}
        except NameError:
            raise  # the change is no program
        except Exception as error:
            return {type(error).__name__}
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_not_broken_keeps_every_invariant(name: str) -> None:
    with small_machine("narrow"):
        assert traced(*(t.uop for t in PROGRAMS[name]())).violations() == []


def test_the_programs_go_through_all_that_lowering_does() -> None:
    with small_machine("narrow"):
        found = set().union(
            *(features(traced(*(t.uop for t in made())).lowered()) for made in PROGRAMS.values())
        )
    lanes = {"THREAD", "UPCAST", "UNROLL", "GROUP_REDUCE", "LOOP", "REDUCE"}
    assert found == lanes | {"running reductions", "packing", "vectors", "arena"}


CASES = of_each_family(
    [pytest.param(mutant, id=str(mutant)) for mutant in MUTANTS],
    lambda mutant: [
        ("stage", mutant.stage),
        ("rule", mutant.rule),
        ("module", mutant.function.partition(":")[0]),
    ],
)
"""A mutant of each stage and of each module, and one that breaks each condition, are in `make test`."""


@pytest.mark.parametrize("mutant", CASES)
def test_a_mutant_is_seen_by_the_invariant_of_its_stage(mutant: Mutant) -> None:
    wanted = mutant.rule or f"stage-{mutant.stage}-value"
    found = outcome(mutant)
    assert found if wanted == "any" else wanted in found
