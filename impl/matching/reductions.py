"""
Patterns of reductions
======================

The steps for Reduce along axes and over ranges, for Index, and for what only reductions have: ranges, bodies and
identities.

A reduction over ranges binds its ranges first. A Body then matches any expression, and may depend on its own ranges
alone; no other variable may depend on a range that the left side reduces. Two ranges of a rule are never the same loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from soundline.impl.analysis.facts import Facts, repeated_constant, repeated_scalar
from soundline.impl.matching.types import Binding, Path, Step, every_step, node_at
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.sizes import as_size
from soundline.spec.rules.building import Abstraction, Env, build, build_flags
from soundline.spec.rules.kinds import ranges_of
from soundline.spec.rules.ranges import reduced_ranges
from soundline.spec.rules.terms import Term

if TYPE_CHECKING:
    from soundline.impl.matching.types import Compiler


def _reduction_op(compiler: Compiler, op: Any) -> Step:
    if not isinstance(op, Term):
        return lambda found, bound: found is op
    name = op.args[0]
    compiler.binds.add(name)
    return lambda found, bound: bound.setdefault(name, found) is found


def _reduce(compiler: Compiler, term: Term, path: Path, *, typed: bool) -> Step:
    """Reduce along axes; in which order they are named plays no part."""
    source, op, over = term.args
    inner, same_op = compiler.whole(source, (*path, 0)), _reduction_op(compiler, op)
    same_axes = _axes(compiler, over, path)
    compiler.reductions.append(path)
    return lambda node, bound: (
        node.op is Op.Reduce
        and len(node.src) == 1
        and same_op(node.arg.op, bound)
        and inner(node.src[0], bound)
        and same_axes(_folded(node), bound)
    )


def _folded(node: UOp) -> tuple[bool, ...]:
    """Which axes a Reduce reduces."""
    return tuple(k in node.arg.axes for k in range(len(node.shape or ())))


def _axes(compiler: Compiler, over: Term, path: Path) -> Step:
    if over.head == "var":
        name = over.args[0]
        compiler.binds.add(name)
        return lambda flags, bound: len(flags) <= compiler.most and bound.setdefault(name, flags) == flags

    def late(root: UOp, env: Env, facts: Facts) -> bool:
        flags = _folded(node_at(root, path))
        return build_flags(over, env, len(flags)) == flags

    compiler.late.append(late)
    return lambda flags, bound: len(flags) <= compiler.most


def _index(compiler: Compiler, term: Term, path: Path, *, typed: bool) -> Step:
    steps = [compiler.whole(a, (*path, k), typed=k > 0) for k, a in enumerate(term.args)]
    return lambda node, bound: node.op is Op.Index and every_step(steps, node.src, bound)


def _identity(compiler: Compiler, term: Term, path: Path, *, typed: bool) -> Step:
    """A constant that must be what its op makes of nothing."""

    def late(root: UOp, env: Env, facts: Facts) -> bool:
        seen = repeated_constant(node_at(root, path))
        return seen is not None and build(term, env, seen) is seen

    compiler.late.append(late)

    def step(node: UOp, bound: Binding) -> bool:
        seen = repeated_constant(node)
        return seen is not None and (typed or compiler.is_dtype_of_rule(seen.dtype, bound))

    return step


# ranges -----------------------------------------------------------------------------------------------------------


def _over(compiler: Compiler, term: Term, path: Path, *, typed: bool) -> Step:
    op, expression, *ranges = term.args
    same_op = _reduction_op(compiler, op)
    loops = [compiler.value(r, (*path, k), typed=True) for k, r in enumerate(ranges, 1)]
    inner = compiler.value(expression, (*path, 0), typed=typed)
    compiler.reductions.append(path)
    return lambda node, bound: (
        node.op is Op.Reduce
        and same_op(node.arg.op, bound)
        and every_step(loops, node.src[1:], bound)
        and inner(node.src[0], bound)
    )


def range_variable(compiler: Compiler, name: str) -> Step:
    """The step for a Range: a loop index whose end is the size that its brackets say."""
    size = compiler.size(compiler.stated.kinds[name].inside[0])
    return lambda node, bound: (
        node.op in (Op.Range, Op.Special)
        and size(as_size(node.src[0]), bound)
        and bound.setdefault(name, node) is node
    )


def _body(compiler: Compiler, term: Term, path: Path, *, typed: bool) -> Step:
    """A Body at its own ranges is any expression; at other indices, it is compared when the expression is known."""
    body, *indices = term.args
    name, kinds = body.args[0], compiler.stated.kinds
    ranges = ranges_of(kinds[name], kinds)
    if [i.args[0] if i.head == "var" else None for i in indices] != list(ranges):
        return compiler.computed(term, path)
    has_right_dtype = compiler.dtype_of_variable(name)
    compiler.binds.add(name)
    compiler.bodies[name] = ranges

    def step(node: UOp, bound: Binding) -> bool:
        seen = repeated_scalar(node)
        return seen is not None and has_right_dtype(seen, bound) and bound.setdefault(name, seen) is seen

    return step


def close_scopes(compiler: Compiler) -> None:
    """Make abstractions of the bodies, before anything else that is late, and keep every range where it belongs."""
    reduced = sorted(str(r) for r in reduced_ranges(compiler.stated.left))
    if not reduced and not compiler.bodies:
        return

    def late(root: UOp, env: Env, facts: Facts) -> bool:
        loops = [env.bound[r] for r in reduced]
        if len({r.arg.id for r in loops}) < len(loops):
            return False
        for name in compiler.stated.kinds:
            own = tuple(env.bound[r] for r in compiler.bodies.get(name, ()))
            foreign = frozenset(loops).difference(own)
            if name not in reduced and _depends(env.bound.get(name), foreign, facts):
                return False
        for name, ranges in compiler.bodies.items():
            abstracted = tuple(env.bound[r] for r in ranges)
            if facts.closes(env.bound[name], abstracted):
                return False
            env.bound[name] = Abstraction(env.bound[name], abstracted)
        return True

    compiler.late.insert(0, late)


def _depends(bound: Any, loops: frozenset[UOp], facts: Facts) -> bool:
    """Whether what a variable is bound to, a node or the sizes of a shape, depends on some of the loops."""
    parts = bound if isinstance(bound, tuple) else (bound,)
    return any(not loops.isdisjoint(facts.free_loops(p)) for p in parts if isinstance(p, UOp))


STEPS: dict[str | Op, Callable[..., Step]] = {
    Op.Reduce: _reduce,
    Op.Index: _index,
    "identity": _identity,
    "over": _over,
    "body": _body,
}
"""The step of each head that this chapter knows."""
