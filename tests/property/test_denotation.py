"""What the prover takes a movement program to denote is what the evaluator computes, at every size that was tried."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from soundline.spec.arrays.arrays import Array, positions
from soundline.spec.dtypes import index, int32
from soundline.spec.errors import IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import UOp
from soundline.spec.rules.building import Env
from soundline.spec.rules.instances import Goal
from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import Value, Variable
from soundline.spec.uop import Op, const, obligations
from soundline.spec.values.elementwise import scalar
from soundline.verify.smt.counterexamples.replays import number
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import Apply, Choice, Constant, Element, Read
from soundline.verify.smt.elements.indexing import ALWAYS, Index, Path, Space
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.integers.arithmetic import Arithmetic, Question, Solution
from soundline.verify.smt.integers.formulas import Formula, conjunction, disjunction, equal, negation
from soundline.verify.smt.integers.polynomials import Poly
from soundline.verify.smt.proving.instances import Court, Instance

from .movement_programs import MOVES, Program, programs

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
BUDGET = Budget()


def bindings(program: Program) -> dict[int, Array]:
    """The inputs of a program, by slot."""
    sizes = {program.symbols[name].arg.slot: number(value) for name, value in program.values.items()}
    return {0: program.elements, **sizes}


class Concrete:
    """A program's denotation with numbers for its symbols, and nothing used but the facts that the prover has."""

    def __init__(self, program: Program, node: UOp, position: tuple[int, ...]) -> None:
        self.program = program
        self.space = Space(Arithmetic(BUDGET))
        self.reader = Denotation(self.space, {n: name for name, n in program.symbols.items()})
        self.premises = [self.reader.condition(c) for _, c in obligations(node)]
        self.space.assume(self.premises)
        shape = self.reader.shape(node)
        at: Index = tuple(Poly.of(f"@{k}") for k in range(len(shape)))
        self.space.inside(ALWAYS, at, shape)
        numbers = {**program.values, **{f"@{k}": i for k, i in enumerate(position)}}
        self.numbers = [equal(Poly.of(name), Poly.of(value)) for name, value in numbers.items()]
        self.element = self.reader.element(node, at, ALWAYS)

    def question(self, path: Path) -> Question:
        return Question([*self.premises, *self.space.known(path), *self.numbers], BUDGET)

    def solution(self, path: Path) -> Solution:
        """The values of all atoms; the facts must admit some."""
        found = self.question(path).solution()
        assert found is not None, "the facts along a path that is taken contradict each other"
        return found

    def value(self, element: Element, path: Path = ALWAYS) -> int:
        """The element, computed."""
        if isinstance(element, Choice):
            taken = self.holds(element.condition, path)
            condition = element.condition if taken else negation(element.condition)
            return self.value(element.then if taken else element.otherwise, path | {condition})
        if isinstance(element, Read):
            found = self.program.elements.at(tuple(self.determined(p, path) for p in element.at))
            assert isinstance(found, int)
            return found
        if isinstance(element, Apply):
            operands = [self.value(o, path) for o in element.operands]
            return int(scalar(element.op, int32, *operands))
        assert isinstance(element, Constant), element
        return int(element.value)

    def holds(self, condition: Formula, path: Path) -> bool:
        question = self.question(path)
        ways = [question.solution(way) is not None for way in (condition, negation(condition))]
        assert ways in ([True, False], [False, True]), "the facts do not decide a condition"
        return ways[0]

    def determined(self, poly: Poly, path: Path) -> int:
        """The value of a polynomial, which the facts must leave no choice about."""
        value = poly.value(self.solution(path).ints)
        other = negation(equal(poly, Poly.of(value)))
        assert self.question(path).solution(other) is None, f"{poly} may be something else than {value}"
        return value


@settings(max_examples=150, deadline=None, suppress_health_check=SLOW)
@given(programs(), st.data())
def test_an_element_is_denoted_as_it_is_evaluated(program: Program, data: st.DataObject) -> None:
    value = evaluate(program.node, bindings(program))
    assert value.shape == program.numbers
    position = data.draw(st.sampled_from(list(positions(value.shape))))
    found = Concrete(program, program.node, position)
    assert found.value(found.element) == value.at(position)


# Pairs of programs ------------------------------------------------------------------------------------------------


def goal_of(program: Program, left: UOp, right: UOp | IllFormed) -> Goal:
    """Two programs as an instance of a rule."""
    kinds = {n: Variable("Size" if n.startswith("n") else "Value", (index,)) for n in program.values}
    kinds["x"] = Variable("Tensor")
    nothing = Value("literal", (0,))
    stated = Rule("pair", __file__, 1, "", {}, kinds, (), nothing, nothing, None, {})
    bound = {**program.symbols, "rank of": {"x": len(program.elements.shape)}}
    naturals = tuple(
        UOp(Op.CmpLe, (const(0, index), node)) for n, node in program.symbols.items() if n.startswith("n")
    )
    return Goal(stated, Env(int32, bound), dict(program.symbols), naturals, (), left, right)


def changed(program: Program, first: int, data: st.DataObject) -> UOp:
    """Another end of a program, from one of its nodes on: one or two other moves, and back to the shape."""
    nodes = [program.node]
    while nodes[-1].src and nodes[-1].op is not Op.Param:
        nodes.append(nodes[-1].src[0])
    start = nodes[min(first, len(nodes) - 1)]
    other = Program(program.draw, program.values, program.symbols, start)
    other.numbers = evaluate(start, bindings(program)).shape
    other.past = [(program.node.shape or (), program.numbers)]
    for kind in data.draw(st.lists(st.sampled_from(MOVES), max_size=2)):
        other.move(kind)
    other.back()
    return other.node


@settings(max_examples=120, deadline=None, suppress_health_check=SLOW)
@given(programs(3), st.integers(0, 3), st.data())
def test_programs_that_differ_are_never_proved_equal(
    program: Program, first: int, data: st.DataObject
) -> None:
    right = changed(program, first, data)
    inputs = bindings(program)
    same = evaluate(program.node, inputs) == evaluate(right, inputs)
    outcome = Instance(goal_of(program, program.node, right), Court(BUDGET)).judge()
    if not same:
        assert outcome.verdict != "proved"
    if outcome.verdict == "refuted":
        assert outcome.counterexample is not None


# The same programs in every run: of some, with parts that are padded at an offset and reshaped twice, the prover does
# not decide whether what is undone is nothing.
@settings(max_examples=60, deadline=None, suppress_health_check=SLOW, derandomize=True)
@given(programs(3))
def test_what_is_undone_is_proved_to_be_nothing(program: Program) -> None:
    """Reshaped to anything and back, flipped twice, permuted and back, padded and cut out again."""
    start, shape, numbers = program.node, program.node.shape or (), program.numbers
    program.reshape()
    program.became(Op.Reshape(program.node, *_source(shape)), numbers)
    order = tuple(range(1, len(numbers))) + (0,) * bool(numbers)
    back = tuple(order.index(k) for k in range(len(order)))
    flags = tuple(k % 2 == 0 for k in range(len(numbers)))
    node = Op.Permute(Op.Permute(program.node, arg=order), arg=back)
    node = Op.Flip(Op.Flip(node, arg=flags), arg=flags)
    goal = goal_of(program, node, start)
    assert Instance(goal, Court(BUDGET)).judge().verdict == "proved"


def _source(shape: tuple[object, ...]) -> tuple[UOp, ...]:
    return (Op.Stack(*(s if isinstance(s, UOp) else const(s, index) for s in shape)),)


def test_what_is_known_under_two_conditions_is_known_under_both_joined() -> None:
    """Two indices out of bounds are two conditions, which a choice on top of them joins."""
    space = Space(Arithmetic(BUDGET))
    one, other, fact = (equal(Poly.of(name), Poly.of(0)) for name in ("a", "b", "c"))
    space.learn(frozenset({one, other}), fact)
    assert fact in space.known(frozenset({conjunction([one, other])}))
    assert fact in space.known(frozenset({one, other}))
    assert fact not in space.known(frozenset({one}))
    assert fact not in space.known(frozenset({disjunction([one, other])}))
