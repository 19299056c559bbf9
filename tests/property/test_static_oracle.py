"""The static law of programs against enumerated threads: who runs, who writes, who owns which shard, who fences."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from soundline.spec.dtypes import float32
from soundline.spec.errors import CollectiveError, StaticError
from soundline.spec.spork.language.expressions import Const, Expr, Index, Name, Span
from soundline.spec.spork.language.nodes import Ref
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import (
    CUDA_TASKS,
    Alloc,
    Assign,
    Call,
    CudaDeviceFunction,
    CudaThreads,
    CudaWarps,
    Fence,
    For,
    Statement,
)
from soundline.spec.spork.language.types import Argument, Data
from soundline.spec.spork.library.memories import IN_ORDER, CudaGmemLinear, Memory
from soundline.spec.spork.library.schema import Instruction, Operand
from soundline.spec.spork.static.law import Facts, static_law
from soundline.spec.spork.synchronization.timelines import InstrTl, UsageTl, sync_tl
from soundline.spec.spork.threads.tilings import Tiling, choose_warps, tile, top_level
from soundline.spec.spork.threads.units import (
    BLOCK_DIM,
    CollUnit,
    coll_unit,
    cuda_cta_in_cluster,
    cuda_thread,
    cuda_warp,
)

sys.path.insert(0, str(Path(__file__).parent))
from test_collectives_oracle import is_one_of, is_valid, moves, shards
from thread_sets import (
    NATIVE,
    SHAPES,
    Cell,
    Refused,
    Scope,
    Step,
    Values,
    cell,
    is_aligned,
    is_whole,
    loop,
    steps,
    task,
    warps,
)

RANDOM = settings(deadline=None, suppress_health_check=list(HealthCheck))
IN_ORDER_TL = Ref("cuda_in_order", sync_tl("cuda_in_order"))
G = Argument("g", Data(float32, (Const(1),)), Ref("CudaGmemLinear", CudaGmemLinear))
ONE = Index("g", (Const(0),))
UNITS = [cuda_thread, cuda_warp, cuda_cta_in_cluster]


@dataclass(frozen=True)
class Nest:
    """Loops and choices of warps, and the threads that they leave, enumerated after each."""

    steps: tuple[Step, ...]
    scopes: tuple[Scope, ...]
    prefix: str = "i"

    @property
    def leaf(self) -> Scope:
        return self.scopes[-1]

    def around(self, body: Sequence[Statement], outermost: int = 0) -> tuple[Statement, ...]:
        """Statements in these loops, or in those from one on."""
        found = tuple(body)
        for depth in range(len(self.steps) - 1, outermost - 1, -1):
            found = (self._step(depth, found),)
        return found

    def _step(self, depth: int, body: tuple[Statement, ...]) -> Statement:
        step = self.steps[depth]
        if step.unit is None:
            return CudaWarps(body, step.lo, step.hi)
        mode = CudaThreads(Ref(str(step.unit), step.unit))
        return For(f"{self.prefix}{depth}", mode, Const(0), Const(step.count), body)


def program(scope: Scope, body: Sequence[Statement]) -> Proc:
    """Statements in a task of a device function."""
    tasks = For("task", CUDA_TASKS, Const(0), Const(1), tuple(body))
    block = CudaDeviceFunction((tasks,), block_dim=scope.block_dim, cluster_dim=scope.cluster_dim)
    return Proc("f", (G,), (), (block,))


def verdict(proc: Proc) -> Facts | str:
    """What the law says of a program: its facts, or the id of what it breaks."""
    try:
        return static_law(proc)
    except StaticError as error:
        return str(error.rule)


@st.composite
def nests(
    draw: st.DrawFn,
    length: int,
    shape: tuple[int, int] | None = None,
    prefix: str = "i",
    last: CollUnit | None = None,
) -> Nest:
    """A nest of steps, up to the first that the oracle refuses, which the law refuses for the same reason.

    The last loop may be over one unit, with as many iterations as there can be.
    """
    block_dim, cluster_dim = shape or draw(st.sampled_from(SHAPES))
    found, state = Nest((), (task(block_dim, cluster_dim),), prefix), top_level(block_dim, cluster_dim)
    for depth in range(length):
        step = draw(steps(state.box[-1]))
        if last is not None and depth == length - 1:
            step = Step(
                last, next((n for n in range(max(state.box), 0, -1) if stepped(state, Step(last, n))), 1)
            )
        longer = Nest((*found.steps, step), found.scopes, prefix)
        rule, scope = refusal(found.leaf, step, f"{prefix}{depth}")
        if scope is None:
            text = longer.around([Fence(IN_ORDER_TL, IN_ORDER_TL)])
            assert verdict(program(found.leaf, text)) == rule, step
            break
        found = Nest(longer.steps, (*found.scopes, scope), prefix)
        state = stepped(state, step, f"{prefix}{depth}") or state
    return found


def refusal(scope: Scope, step: Step, name: str) -> tuple[str | None, Scope | None]:
    """The threads after a step, or the id of what is wrong with it, by the oracle."""
    try:
        if step.unit is None:
            return None, warps(scope, step.lo, step.hi)
        return None, loop(scope, name, step.count, step.unit)
    except (Refused, CollectiveError) as error:
        return error.rule, None


def stepped(state: Tiling, step: Step, name: str = "") -> Tiling | None:
    """The tiling after a step, where the algebra allows it; it only says which steps are worth drawing."""
    try:
        if step.unit is None:
            return choose_warps(state, step.lo, step.hi)
        return tile(state, name, step.count, step.unit)
    except CollectiveError:
        return None


# Who runs ---------------------------------------------------------------------------------------------------------


@settings(RANDOM, max_examples=150)
@given(nests(4))
def test_elements_are_written_where_every_collective_is_one_thread(nest: Nest) -> None:
    found = verdict(program(nest.leaf, nest.around([Assign(ONE, Const(1.0))])))
    single = all(len(group) == 1 for group in nest.leaf.groups.values())
    event(f"single {single}")
    assert found == "instr-scalar-unit" if not single else isinstance(found, Facts)


def instruction(unit: CollUnit, memory: Memory | None = None, lanes: CollUnit | None = None) -> Instruction:
    """An instruction that a collective of a unit executes on an element, or on elements of several collectives."""
    one = Argument("x", Data(float32))
    operand = Operand(memories=(memory,) if memory is not None else (), unit=lanes)
    return Instruction(
        name="made",
        arguments=(one,),
        body=(Assign(Name("x"), Const(1.0)),),
        unit=unit,
        instr_tl=InstrTl.cuda_in_order,
        operands={"x": operand},
    )


@settings(RANDOM, max_examples=150)
@given(nests(3), st.sampled_from(NATIVE))
def test_an_instruction_runs_where_every_collective_is_one_of_its_unit(nest: Nest, unit: CollUnit) -> None:
    assume(is_valid(nest.leaf, unit))
    found = verdict(program(nest.leaf, nest.around([Call(Ref("made", instruction(unit)), (ONE,))])))
    alike = is_aligned(nest.leaf, unit) and all(
        is_one_of(nest.leaf, unit, group) for group in nest.leaf.groups.values()
    )
    event(f"alike {alike}, {found if isinstance(found, str) else 'accepted'}")
    if isinstance(found, Facts):
        assert alike
    else:
        assert found == "instr-unit"
        # Where threads are arranged in ways that have nothing in common, the law asks no further.
        assert not alike or None in unit.box or _no_common_domain(nest, unit)


def _no_common_domain(nest: Nest, unit: CollUnit) -> bool:
    rule, _ = refusal(nest.leaf, Step(unit, 1), "another")
    return rule in ("coll-domain-c2", "coll-domain-c4")


@settings(RANDOM, max_examples=150)
@given(nests(4))
def test_a_fence_is_legal_where_every_collective_is_a_thread_a_warp_a_cta_or_a_cluster(nest: Nest) -> None:
    scope = nest.leaf
    found = verdict(program(scope, nest.around([Fence(IN_ORDER_TL, IN_ORDER_TL)])))
    every = frozenset(range(scope.block_dim * scope.cluster_dim))
    pieces = set()
    for group in scope.groups.values():
        first = min(group)
        of_cta = first % scope.block_dim
        if len(group) == 1:
            pieces.add(())
        elif of_cta % 32 == 0 and group == frozenset(range(first, first + 32)):
            pieces.add(("syncwarp",))
        elif of_cta == 0 and group == frozenset(range(first, first + scope.block_dim)):
            pieces.add(("barrier.cta.sync",))
        elif group == every:
            pieces.add(("barrier.cluster",))
        else:
            pieces.add(("none",))
    event(str(pieces))
    if pieces <= {(), ("syncwarp",), ("barrier.cta.sync",), ("barrier.cluster",)}:
        assert isinstance(found, Facts)
        assert set(found.pieces.values()) == pieces
        assert len(pieces) == 1
    else:
        assert found in ("fence-c5", "fence-c6")


# Who owns which shard ---------------------------------------------------------------------------------------------


def registers(unit: CollUnit) -> Memory:
    """A memory that collectives of a unit share out, and that anyone may touch."""
    return Memory(
        name="Shared out",
        space="registers",
        native=unit,
        usage=UsageTl.cuda_sync_rmem,
        allocated=InstrTl.cuda_in_order,
        reads=IN_ORDER,
        writes=IN_ORDER,
        instructions=IN_ORDER,
        constant=True,
    )


@st.composite
def index_names(draw: st.DrawFn, nest: Nest, right: Sequence[str]) -> tuple[str, ...]:
    """Indices of a use: mostly the right ones in some order, sometimes another or none."""
    found = list(draw(st.permutations(right)))
    if draw(st.integers(0, 5)) == 0:
        found.insert(draw(st.integers(0, len(found))), draw(st.sampled_from([*nest.leaf.names, "task", "0"])))
    if found and draw(st.integers(0, 9)) == 0:
        found.pop()
    return tuple(found)


def expression(text: str) -> Expr:
    return Const(0) if text == "0" else Name(text)


def use(memory: Memory, indices: Sequence[str], unit: CollUnit) -> Statement:
    """An instruction of a unit that touches an element of the variable."""
    place = Index("v", tuple(expression(i) for i in indices)) if indices else Name("v")
    return Call(Ref("made", instruction(unit, memory)), (place,))


def telling(nest: Nest, outer: int, unit: CollUnit) -> list[str]:
    """The iterators after the first few that change the native collective."""
    across, _ = moves(nest.leaf, unit)
    return [nest.leaf.names[k] for k in sorted(across) if k >= outer]


def extents_of(nest: Nest, indices: Sequence[str]) -> tuple[int, ...]:
    counts = dict(zip(nest.leaf.names, nest.leaf.counts, strict=True))
    return tuple(counts.get(i, 3) for i in indices)


@settings(RANDOM, max_examples=100)
@given(st.data(), st.sampled_from(UNITS))
def test_every_thread_that_names_a_shard_belongs_to_its_owner(data: st.DataObject, unit: CollUnit) -> None:
    nest = data.draw(nests(4, last=data.draw(st.sampled_from([None, unit, cuda_thread]))))
    assume(is_valid(nest.leaf, unit))
    executor = next(
        (u for u in UNITS if all(is_one_of(nest.leaf, u, g) for g in nest.leaf.groups.values())), None
    )
    assume(executor is not None and is_aligned(nest.leaf, executor))
    assert executor is not None
    at = data.draw(st.integers(0, len(nest.steps)))
    outer = len(nest.scopes[at].names)
    indices = data.draw(index_names(nest, telling(nest, outer, unit)))
    memory = registers(unit)
    alloc = Alloc("v", float32, tuple(Const(n) for n in extents_of(nest, indices)), Ref("M", memory))
    inner = nest.around([use(memory, indices, executor)], at)
    proc = program(nest.leaf, replace_around(nest, at, (alloc, *inner)))
    found = verdict(proc)
    event(found if isinstance(found, str) else "accepted")
    assume(found != "instr-unit")
    if not isinstance(found, Facts):
        return
    (deduction,) = found.shards.values()
    assert deduction is not None
    assert all(is_whole(nest.scopes[at], unit, g) for g in nest.scopes[at].groups.values())
    picked = tuple(nest.leaf.names.index(n) for n in deduction.distributed)
    used = shards(nest.leaf, unit, outer, picked)
    assert all(len(cells) == 1 for cells in used.values())
    for values in {v for v, _ in used}:
        owners = [cells for (v, _), cells in used.items() if v == values]
        assert len(set().union(*owners)) == len(owners)
    check_first_threads(nest.leaf, unit, used, deduction.first, deduction.pitches, outer)


def check_first_threads(
    scope: Scope,
    unit: CollUnit,
    used: dict[tuple[Values, Values], set[Cell]],
    first: int,
    pitches: Sequence[int],
    outer: int,
) -> None:
    """`Facts.shards` says for each shard a thread of its owner."""
    for (values, shard), cells in used.items():
        if any(values):
            continue  # elsewhere the allocation itself is moved
        thread = first + sum(i * pitch for i, pitch in zip(shard, pitches, strict=True))
        assert cells == {cell(scope, unit, thread)[0]}, (outer, values, shard)


def replace_around(nest: Nest, at: int, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Statements inside of the first few loops of a nest."""
    return Nest(nest.steps[:at], nest.scopes[: at + 1], nest.prefix).around(body)


@settings(RANDOM, max_examples=60)
@given(st.data(), st.sampled_from(UNITS))
def test_two_uses_agree_where_each_shard_has_one_owner(data: st.DataObject, unit: CollUnit) -> None:
    """Two nests below one allocation: accepted only where each shard index means the same threads in both."""
    shape = data.draw(st.sampled_from([(64, 1), (128, 1), (64, 2)]))
    assume(is_valid(task(*shape), unit))
    memory, uses, owners = registers(unit), [], []
    extents: tuple[int, ...] | None = None
    for prefix in "ij":
        nest = data.draw(nests(3, shape, prefix, data.draw(st.sampled_from([unit, cuda_thread]))))
        executor = next(
            (u for u in UNITS if all(is_one_of(nest.leaf, u, g) for g in nest.leaf.groups.values())), None
        )
        assume(executor is not None and is_aligned(nest.leaf, executor))
        assert executor is not None
        indices = tuple(data.draw(st.permutations(telling(nest, 0, unit))))
        extents = extents_of(nest, indices) if extents is None else extents
        assume(len(indices) == len(extents))
        uses += nest.around([use(memory, indices, executor)])
        picked = tuple(nest.leaf.names.index(n) for n in indices)
        owners.append({shard: c for (_, shard), c in shards(nest.leaf, unit, 0, picked).items()})
    assert extents is not None
    alloc = Alloc("v", float32, tuple(map(Const, extents)), Ref("M", memory))
    found = verdict(program(task(*shape), (alloc, *uses)))
    event(found if isinstance(found, str) else "accepted")
    one, two = owners
    if isinstance(found, Facts):
        assert one == two
    elif found in ("dist-c13", "dist-c14"):
        assert one != two


# Several shards ---------------------------------------------------------------------------------------------------


HANDED_OUT = [
    (Step(cuda_warp, 4), Step(cuda_thread, 32)),
    (Step(2 * cuda_warp, 2), Step(cuda_warp, 2), Step(cuda_thread, 32)),
    (Step(2 * cuda_warp, 2), Step(cuda_thread, 64)),
    (Step(cuda_warp, 4), Step(4 * cuda_thread, 8), Step(cuda_thread, 4)),
    (Step(4 * cuda_thread, 32), Step(cuda_thread, 1)),
    (Step(None, lo=1, hi=3), Step(cuda_warp, 2), Step(cuda_thread, 32)),
    (Step(None, lo=1, hi=2), Step(cuda_thread, 32)),
    (Step(cuda_warp, 4), Step(cuda_thread, 16)),
    (Step(coll_unit((BLOCK_DIM / 32, 32), (BLOCK_DIM / 32, 1)), 32), Step(cuda_thread, 4)),
]
"""How registers of single threads are handed out, in a block of 128."""

BY_WARPS = [
    (Step(cuda_warp, 4),),
    (Step(2 * cuda_warp, 2), Step(cuda_warp, 2)),
    (Step(None, lo=1, hi=3), Step(cuda_warp, 2)),
    (Step(None, lo=1, hi=2),),
    (Step(cuda_warp, 1),),
]
"""Where warps run."""


def nest_of(made: Sequence[Step], prefix: str) -> Nest:
    """The nest of some steps, which all are allowed."""
    scopes = [task(128, 1)]
    for depth, step in enumerate(made):
        _, scope = refusal(scopes[-1], step, f"{prefix}{depth}")
        assert scope is not None
        scopes.append(scope)
    return Nest(tuple(made), tuple(scopes), prefix)


def apart(nest: Nest, name: str) -> int:
    """By how many threads the first two iterations of a loop are apart."""
    first, other = ({**dict.fromkeys(nest.leaf.names, 0), name: at} for at in (0, 1))
    groups = [nest.leaf.groups.get(tuple(v.values())) for v in (first, other)]
    zero, one = groups
    assert zero is not None
    return min(one) - min(zero) if one is not None else 0


@settings(RANDOM, max_examples=80)
@given(st.data())
def test_intervals_touch_shards_of_the_collective_that_runs(data: st.DataObject) -> None:
    """Registers of threads that one nest hands out, and an operand of warps with intervals in another nest."""
    plain = nest_of(data.draw(st.sampled_from(HANDED_OUT)), "i")
    other = nest_of(data.draw(st.sampled_from(BY_WARPS)), "j")
    memory = registers(cuda_thread)
    names = tuple(telling(plain, 0, cuda_thread))
    likely = {apart(other, n): n for n in other.leaf.names}
    indices = [likely.get(apart(plain, n), ":") for n in names]
    for k in range(len(indices)):
        if data.draw(st.integers(0, 3)) == 0:
            indices[k] = data.draw(st.sampled_from([*other.leaf.names, ":"]))
    assume(":" in indices)
    sizes = extents_of(plain, names)
    spanned = tuple(n for i, n in zip(indices, sizes, strict=True) if i == ":")
    window = Index("v", tuple(Span() if i == ":" else Name(i) for i in indices))
    statements = [
        Alloc("v", float32, tuple(map(Const, sizes)), Ref("M", memory)),
        *plain.around([use(memory, names, cuda_thread)]),
        *other.around([Call(Ref("made", many(memory, spanned)), (window,))]),
    ]
    found = verdict(program(plain.leaf, statements))
    event(found if isinstance(found, str) else "accepted")
    assume(found != "instr-unit")
    picked = tuple(plain.leaf.names.index(n) for n in names)
    owners = {shard: c for (_, shard), c in shards(plain.leaf, cuda_thread, 0, picked).items()}
    within = all(
        {(thread,) for thread in warp_of(group)} >= {own[-1:] for own in touched}
        for values, group in other.leaf.groups.items()
        for touched in [owned(owners, indices, sizes, dict(zip(other.leaf.names, values, strict=True)))]
    )
    if isinstance(found, Facts):
        assert within
    elif found == "dist-interval-unit":
        assert not within


def many(memory: Memory, sizes: tuple[int, ...]) -> Instruction:
    """An instruction of a warp that touches registers of several threads of it."""
    made = instruction(cuda_warp, memory, cuda_warp)
    element = Index("x", tuple(Const(0) for _ in sizes))
    argument = Argument("x", Data(float32, tuple(map(Const, sizes)), window=True))
    return replace(made, arguments=(argument,), body=(Assign(element, Const(1.0)),))


def owned(
    owners: dict[Values, set[Cell]], indices: Sequence[str], sizes: Sequence[int], values: dict[str, int]
) -> set[Cell]:
    """Who owns what is touched in an iteration; nothing where an index goes beyond."""
    found: set[Cell] = set()
    for shard, cells in owners.items():
        if all(i == ":" or values[i] == at for i, at in zip(indices, shard, strict=True)):
            found |= cells
    return found


def warp_of(group: frozenset[int]) -> frozenset[int]:
    """The threads of the warp that a group is; a block has whole warps."""
    first = min(group) // 32 * 32
    return frozenset(range(first, first + 32))
