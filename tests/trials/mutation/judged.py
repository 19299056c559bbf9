"""
Mutants that nothing can notice
===============================

Survivors that were studied and found to be the same program, or a program whose difference no test should fix. Each
entry says why. It names the module and the line before and after the change, so that it lapses when the line changes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Judged:
    """A judgement: this change of this line is nothing that a test should notice."""

    path: str
    before: str
    after: str
    why: str


JUDGED: tuple[Judged, ...] = (
    Judged(
        "spec/rules/building.py",
        "own[k] if k in own else build(a, env, peer if k >= first else const(False, bool_))",
        "own[k] if k in own else build(a, env, peer if k >= first else const(True, bool_))",
        "only its dtype and its shape are read",
    ),
    Judged(
        "spec/rules/building.py",
        "return build(args[0], env).shape or ()",
        "return build(args[0], env).shape",
        "what a term stands for is no effect, so it has a shape",
    ),
    Judged(
        "spec/ops/bodies.py",
        "if argument.shape is None or argument.dtype is not param.dtype:",
        "if argument.dtype is not param.dtype:",
        "what has no shape is void, and no Param is void",
    ),
    Judged(
        "spec/dtypes.py",
        "infinities = target.has_infinity or not source.has_infinity",
        "infinities = target.has_infinity or source.has_infinity",
        "the one format without infinity is too short for any other",
    ),
    Judged(
        "spec/ops/elementwise/arithmetic.py",
        "return round_to(dtype, math.copysign(math.inf, a) * math.copysign(1.0, b))",
        "return round_to(dtype, math.copysign(math.inf, a) * math.copysign( 2.0, b))",
        "twice infinity is infinity",
    ),
    Judged(
        "spec/ops/elementwise/division.py",
        "return wrap(dtype, quotient if (a < 0) == (b < 0) else -quotient)",
        "return wrap(dtype, quotient if (a < 0) == (b < 1) else -quotient)",
        "the divisor is not 0 here",
    ),
    Judged(
        "spec/evaluate.py",
        "frame.program.learn(root)",
        "pass",
        "whoever asks for a fact learns it first",
    ),
    Judged(
        "spec/evaluation/frames.py",
        "if node.op is Op.After:",
        "if False:",
        "a coarser answer: places are then computed again more often",
    ),
    Judged(
        "spec/evaluation/frames.py",
        "at: int = 0",
        "at: int = -1",
        "a frame without a loop has no index to give",
    ),
    Judged(
        "spec/evaluation/frames.py",
        "at: int = 0",
        "at: int = 1",
        "a frame without a loop has no index to give",
    ),
    Judged(
        "spec/evaluation/frames.py",
        "return frozenset(), False",
        "return frozenset(), True",
        "a coarser answer: places are then computed again more often",
    ),
    Judged(
        "spec/rules/kinds.py",
        'return tuple(n for n in kind.inside if isinstance(n, str) and kinds[n].kind == "Range")',
        'return tuple(n for n in kind.inside if isinstance(n, str) and kinds[n].kind >= "Range")',
        "a Body names ranges and dtype variables alone, and DTypeVar comes first in the alphabet",
    ),
    Judged(
        "spec/rules/vocabulary.py",
        "return apply(Op.Where, apply(Op.Or, x == x, x != x).pad(first, shape), x.pad(first, shape), behind)",
        "return apply(Op.Where, apply(Op.Or, x <= x, x != x).pad(first, shape), x.pad(first, shape), behind)",
        "x <= x is what x == x is",
    ),
    Judged(
        "spec/rules/instances.py",
        "if decisive not in leaves_of:",
        "if True:",
        "leaves that are made again are the same nodes",
    ),
    Judged(
        "spec/evaluation/linear.py",
        "frame.happened |= {s for s in block if is_effect(s)}",
        "frame.happened |= {s for s in block if True}",
        "only effects are ever looked up",
    ),
    Judged(
        "spec/evaluation/memory_effects.py",
        "while frame.parent is not None and node not in frame.places and not frame.moves(node):",
        "while False:",
        "decides where a place is remembered, not which place it is",
    ),
    Judged(
        "spec/ops/walks.py",
        "if inside:",
        "if True:",
        "a thing with nothing below it comes next either way",
    ),
    Judged(
        "spec/ops/node.py",
        "return node if src == node.src else UOp(node.op, src, node.arg, node.tag)",
        "return node if src is node.src else UOp(node.op, src, node.arg, node.tag)",
        "an equal tuple is the same node",
    ),
    Judged(
        "spec/rules/ranks.py",
        "classes.join(name, len(named_sizes(kind)), stated.left)",
        "classes.join(name, len(named_sizes(kind)), stated.right)",
        "no rank is known of a name before, so nothing can clash and be told",
    ),
    Judged(
        "spec/ops/movement/shrink.py",
        "return every(c for s, o, new in rows for c in (at_most(0, o), at_most(0, new), at_most(add(o, new), s)))",
        "return every(c for s, o, new in rows for c in (at_most(0, o), at_most(0, new), at_most(add(new, o), s)))",
        "a sum does not depend on the order of its terms",
    ),
    Judged(
        "spec/ops/shards.py",
        "if isinstance(size, int) and size % devices == 0 and equal(product(new[:axis]), before) is True",
        "if isinstance(size, int) and size % devices <= 0 and equal(product(new[:axis]), before) is True",
        "a remainder by a positive number is never negative",
    ),
    Judged(
        "spec/ops/sizes.py",
        "return a * b if isinstance(a, int) and isinstance(b, int) else as_size(Op.Mul(as_node(a), as_node(b)))",
        "return a * b if False else as_size(Op.Mul(as_node(a), as_node(b)))",
        "a product of numbers is a number by either way",
    ),
    Judged(
        "spec/ops/building.py",
        "if x.shape == shape:",
        "if False:",
        "what follows changes nothing where the shapes are equal",
    ),
    Judged(
        "spec/evaluation/values.py",
        "if cell != cell or not order(lo) <= order(cell) <= order(hi):",
        "if not order(lo) <= order(cell) <= order(hi):",
        "NaN is in no order, so it is outside in any case",
    ),
    Judged(
        "spec/evaluation/values.py",
        "return node.src[1:] if gated_place else node.src",
        "return node.src[ 2:] if gated_place else node.src",
        "what is not computed in advance is computed where it is asked for",
    ),
    Judged(
        "spec/evaluation/values.py",
        "if node.op in VIEWS and in_memory(frame, node):",
        "if in_memory(frame, node):",
        "what is in memory and no view has been answered above",
    ),
    Judged(
        "verify/judging/judge.py",
        "small = scalars.prove_goals(goals(rule, dtype), str(dtype), budget.share(0.1))",
        "small = scalars.prove_goals(goals(rule, dtype), str(dtype), budget.share( -0.9))",
        "a matter of how much work is spent: up to three variables of 8 bits are decided by tables",
    ),
    Judged(
        "verify/smt/goals/solving.py",
        'solver.set("random_seed", budget.seed)',
        "pass",
        "the seed decides which of many solutions is found, not whether there is one",
    ),
    Judged(
        "verify/smt/values/bit_vectors.py",
        "Op.Max: _by_sign(_maximum(lambda a, b: a > b), _maximum(z3.UGT)),",
        "Op.Max: _by_sign(_maximum(lambda a, b: a >= b), _maximum(z3.UGT)),",
        "of two equal integers either is the greater",
    ),
    Judged(
        "verify/smt/values/bit_vectors.py",
        "Op.Max: _by_sign(_maximum(lambda a, b: a > b), _maximum(z3.UGT)),",
        "Op.Max: _by_sign(_maximum(lambda a, b: a > b), _maximum(z3.UGE)),",
        "of two equal integers either is the greater",
    ),
    Judged(
        "verify/smt/integers/formulas.py",
        'return found if f.kind == "eq" else negation(found)',
        'return found if f.kind <= "eq" else negation(found)',
        "the kind is eq or ne here",
    ),
    Judged(
        "verify/smt/counterexamples/sizes.py",
        "few = [c for c in islice(product(*choices), 4000) if place(c) < limit]",
        "few = [c for c in islice(product(*choices), 3999) if place(c) < limit]",
        "how many sizes are tried is tuned, not law",
    ),
    Judged(
        "verify/smt/counterexamples/first_inputs.py",
        "MOST_ELEMENTS = 60",
        "MOST_ELEMENTS = 61",
        "how large the inputs are that are tried first is tuned, not law",
    ),
    Judged(
        "verify/smt/reductions/covers.py",
        "self.found_reductions = False",
        "self.found_reductions = True",
        "more is compared: what has no reduction, and has been compared by then",
    ),
    Judged(
        "verify/smt/proving/instances.py",
        "FEW_FILLS = 6",
        "FEW_FILLS = 5",
        "how many inputs are tried is tuned, not law",
    ),
    Judged(
        "verify/smt/proving/instances.py",
        "evaluations: int = 0",
        "evaluations: int = 1",
        "one input fewer of 1,500",
    ),
    Judged(
        "verify/smt/goals/sampling.py",
        "if kind < 0.8:",
        "if kind <= 0.8:",
        "a random number is hardly ever just that",
    ),
    Judged(
        "verify/smt/goals/sampling.py",
        "for n in (1, 2, 3, 4, 5, 7, 8, 6, 10, 12, 15, 16, 17, 31, 32, 33, 63, 64, 100)",
        "for n in (1, 2, 3, 4, 5, 7, 8, 6, 10, 12, 14, 16, 17, 31, 32, 33, 63, 64, 100)",
        "which simple numbers are tried is tuned, not law",
    ),
    Judged(
        "verify/smt/goals/solving.py",
        "seconds: float = 30.0",
        "seconds: float = 29.0",
        "an outer safety, set far above what the work takes",
    ),
    Judged(
        "verify/smt/integers/truncation.py",
        "return Signed(x, z3.If(x < 0, -x, x), x < 0)",
        "return Signed(x, z3.If(x < 1, -x, x), x < 0)",
        "the negative of 0 is 0",
    ),
    Judged(
        "spec/ops/axes.py",
        'return addrspace == "REG" or (addrspace == "LOCAL" and axis not in THREADS)',
        'return addrspace >= "REG" or (addrspace == "LOCAL" and axis not in THREADS)',
        "of the three address spaces REG is the last in the alphabet",
    ),
    Judged(
        "spec/values/power.py",
        "lead, lead_low = two_product(high, b)",
        "lead, lead_low = two_product(b, high)",
        "a product and its error do not depend on the order of the factors",
    ),
    Judged(
        "spec/ops/bodies.py",
        "taken = outside | {r.arg.id for r in loops if r in free and r.arg.id in moving}",
        "taken = outside | {r.arg.id for r in loops if r.arg.id in moving}",
        "more loops are renamed than must be, which alpha-equality does not see",
    ),
)


def judgement(path: str, before: str, after: str) -> str | None:
    """Why a surviving mutant is no fault of the tests, if that was found."""
    for entry in JUDGED:
        if (entry.path, entry.before, entry.after) == (path, before, after):
            return entry.why
    return None
