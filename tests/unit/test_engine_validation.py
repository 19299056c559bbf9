"""The engine under watch: what it does right is proved, and what it does wrong is blamed by name, with a small term."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from soundline.impl.analysis.facts import Facts
from soundline.impl.rewriting.engine import FOLDING
from soundline.impl.rules import SIMPLIFY
from soundline.impl.rules.procedural import PROCEDURES
from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import bool_, float32, index, int8, int32, ints, uint8
from soundline.spec.errors import EvaluationError, UsageError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import Op, ReduceArg, UOp, substitute, toposort
from soundline.spec.rules.language import Rule, Sides, given, rule
from soundline.spec.rules.procedures import Knowledge, Procedure, procedure
from soundline.spec.rules.terms import Const, Flags, Interval, Tensor, Value
from soundline.spec.uop import broadcast_to, buffer, const, expand, loop, pad, param, reshape, shrink
from soundline.verify.cli.main import main
from soundline.verify.engine import report
from soundline.verify.engine.applications import Validator
from soundline.verify.engine.campaign import EngineSettings, Run, run_engine
from soundline.verify.engine.corpus import (
    COMPOSED,
    ONNX,
    RANDOM,
    Graph,
    batches,
    graphs_of,
    has_onnx,
)
from soundline.verify.engine.elements import Elements, Outside, TooLarge
from soundline.verify.engine.inputs import open_inputs
from soundline.verify.engine.random_graphs import random_graph
from soundline.verify.engine.views import Reader, always_valid, structure, whole_view
from soundline.verify.engine.watching import Finding, Seen, Watch, depth_of

BY_ID = {r.id: r for r in SIMPLIFY}
X, Y = param(0, int8), param(1, int8)
T = param(2, float32, (2, 3))


def c(number: int, dtype=int8) -> UOp:  # type: ignore[no-untyped-def]
    return const(number, dtype)


def watched(graphs: Sequence[UOp], *steps: Rule | Procedure) -> Seen:
    watch, total = Watch(steps, Validator(None)), Seen()
    for k, root in enumerate(graphs):
        total.add(watch.graph(Graph(f"graph {k}", root), 4))
    return total


def blamed(seen: Seen, name: str) -> Finding:
    """The one step that is blamed; its test must pass as it stands."""
    steps = [f for f in seen.findings if f.kind != "engine"]
    assert {f.step for f in steps} == {name}
    first = steps[0]
    scope: dict[str, object] = {}
    exec(first.test, scope)
    (test,) = (v for k, v in scope.items() if k.startswith("test_"))
    test()  # type: ignore[operator]
    return first


def operations(text: str) -> int:
    """How many lines of a program are neither Params nor loops."""
    return sum(
        line.startswith("%") and "Param" not in line and "Range" not in line for line in text.splitlines()
    )


# The reading of elements ----------------------------------------------------------------------------------------------


def by_elements(root: UOp, values: dict[int, Array], ranges: dict[int | str, int]) -> list[object]:
    """A program evaluated through the reading of elements: each scalar program on its own."""
    view = whole_view(root, root)
    elements = Elements(view.leaves, 50_000)
    numbers = elements.of(root)
    known: dict[int, UOp] = {}

    def scalar(k: int) -> UOp:
        if k not in known:
            row = elements.row(k)
            if row.head == "leaf":
                place, position, around = row.arg
                inner = {**ranges, **{r.arg.id: n for r, n in around}}
                cell = evaluate(view.leaves[place], values, ranges=_only(view.leaves[place], inner)).elements[
                    position
                ]
                known[k] = const(cell, row.dtype)  # type: ignore[arg-type]
            elif row.head is Op.Const:
                known[k] = const(row.arg.value, row.dtype)
            elif row.head == "reduction":
                total = scalar(row.operands[0])
                for o in row.operands[1:]:
                    total = UOp(row.arg, (total, scalar(o)))
                known[k] = total
            else:
                known[k] = UOp(row.head, tuple(map(scalar, row.operands)), row.arg)
        return known[k]

    return [evaluate(scalar(k)).elements[0] for k in numbers.reshape(-1).tolist()]


def _only(node: UOp, ranges: dict[int | str, int]) -> dict[int | str, int]:
    inside = {n.arg.id for n in toposort(node) if n.op is Op.Range}
    return {k: n for k, n in ranges.items() if k in inside}


def test_elements_are_read_as_the_evaluator_reads_them() -> None:
    read = 0
    for number in range(160):
        root = random_graph(5, number).root
        for inputs in open_inputs(root, str(number), 3):
            try:
                expected = evaluate(root, inputs.params, inputs.buffers, inputs.ranges)
                found = by_elements(root, inputs.params, inputs.ranges)
            except (EvaluationError, Outside, TooLarge):
                continue
            assert Array(root.dtype, expected.shape, tuple(found)) == expected, root  # type: ignore[arg-type]
            read += 1
    assert read > 200


def test_movement_is_played_out() -> None:
    x = param(0, int32, (2, 3))
    moved = [
        Op.Permute(x, arg=(1, 0)),
        Op.Flip(x, arg=(True, False)),
        reshape(x, (3, 2)),
        expand(reshape(x, (2, 1, 3)), (2, 2, 3)),
        pad(x, (1, 0), (4, 3)),
        shrink(x, (0, 1), (2, 2)),
        Op.Stack(x, x),
        Op.Index(x, const(1, index), Op.Stack(const(2, index), const(0, index))),
        Op.Reduce(x, arg=ReduceArg(Op.Add, (1,))),
        Op.Reduce(shrink(x, (0, 0), (2, 0)), arg=ReduceArg(Op.Max, (1,))),
        Op.Reduce(Op.Index(x, loop(2, 0), const(1, index)), loop(2, 0), arg=ReduceArg(Op.Mul)),
    ]
    values = {0: Array(int32, (2, 3), (1, 2, 3, 4, 5, 6))}
    for root in moved[:-1]:
        expected = evaluate(root, values)
        assert tuple(by_elements(root, values, {})) == expected.elements, root
    with pytest.raises(TooLarge):
        Elements([x], 5).of(x)


def test_a_reduction_over_a_loop_takes_each_turn_s_own_leaf() -> None:
    table, r = param(0, int8, (3,)), loop(3, 0)
    each = Op.Index(table, r)
    total = Op.Reduce(each, r, arg=ReduceArg(Op.Add))
    three_times = Op.Mul(each, c(3))
    assert Validator().validate(Op.Add(total, c(0)), total).status == "proved"
    wrong = Op.Reduce(Op.Add(each, c(0)), r, arg=ReduceArg(Op.Add))
    assert Validator().validate(wrong, total).status == "proved"
    assert Validator().validate(total, substitute(three_times, {r: const(0, index)})).status != "proved"


# Validation of one rewrite --------------------------------------------------------------------------------------------

SAME = [
    (Op.Add(X, c(0)), X),
    (Op.Add(X, Y), Op.Add(Y, X)),
    (Op.Permute(Op.Permute(T, arg=(1, 0)), arg=(1, 0)), T),
    (Op.Permute(Op.Neg(T), arg=(1, 0)), Op.Neg(Op.Permute(T, arg=(1, 0)))),
    (Op.Mul(T, broadcast_to(const(1.0, float32), (2, 3))), T),
    (Op.Mul(loop(3, 0), const(0, index)), const(0, index)),
    (Op.CmpLt(loop(3, 0), const(3, index)), const(True, bool_)),
    (Op.CmpLt(param(0, uint8, bounds=(5, 255)), c(5, uint8)), const(False, bool_)),
    (param(0, uint8, bounds=(255, 255)), c(255, uint8)),
    (param(0, bool_, bounds=(False, False)), const(False, bool_)),
]
DIFFERENT = [
    (Op.Add(X, c(1)), X),
    (Op.Sub(X, Y), Op.Sub(Y, X)),
    (Op.Permute(param(2, float32, (2, 2)), arg=(1, 0)), param(2, float32, (2, 2))),
    (Op.Flip(T, arg=(False, True)), T),
    (Op.Add(T, broadcast_to(const(0.0, float32), (2, 3))), T),
    (Op.CmpLt(loop(3, 0), const(2, index)), const(True, bool_)),
    (Op.CmpLt(param(0, uint8, bounds=(4, 255)), c(5, uint8)), const(False, bool_)),
    (pad(T, (0, 1), (2, 4)), pad(T, (0, 0), (2, 4))),
]


@pytest.mark.parametrize(("before", "after"), SAME, ids=str)
def test_what_is_the_same_is_proved(before: UOp, after: UOp) -> None:
    assert Validator().validate(before, after).status == "proved"


@pytest.mark.parametrize(("before", "after"), DIFFERENT, ids=str)
def test_what_is_not_is_refuted(before: UOp, after: UOp) -> None:
    assert Validator().validate(before, after).status == "refuted"


def test_using_an_element_that_was_not_used_is_refuted() -> None:
    gate, unsure = param(0, bool_), Op.Index(param(1, bool_, (4,)), param(2, index))
    before = Op.Where(gate, unsure, const(False, bool_))
    assert Validator().validate(before, Op.And(gate, unsure)).status == "refuted"
    sure = Op.CmpLt(loop(4, 0), const(2, index))
    assert (
        Validator().validate(Op.Where(gate, sure, const(False, bool_)), Op.And(gate, sure)).status == "proved"
    )
    again = Op.Where(gate, Op.Not(Op.Not(unsure)), const(False, bool_))
    assert Validator().validate(again, before).status == "proved"
    assert always_valid(sure)
    assert not always_valid(unsure)


def test_a_view_shows_more_where_less_does_not_do() -> None:
    same = Op.Mod(Op.Add(X, c(1)), c(4))
    found = Validator().validate(Op.CmpLt(same, c(4)), const(True, bool_), depth=1)
    assert found.status == "proved"


def test_equal_views_are_one() -> None:
    reader = Reader()
    a, b = whole_view(Op.Add(X, c(0)), X), whole_view(Op.Add(Y, c(0)), Y)
    assert structure(a, reader) == structure(b, reader)
    other = whole_view(Op.Add(param(0, int8, bounds=(0, 3)), c(0)), param(0, int8, bounds=(0, 3)))
    assert structure(a, reader) != structure(other, reader)
    validator = Validator()
    validator.validate(Op.Add(X, c(0)), X)
    validator.validate(Op.Add(Y, c(0)), Y)
    assert len(validator.seen) == 1


def test_verdicts_do_not_depend_on_what_was_asked_before() -> None:
    pairs = [*SAME, *DIFFERENT]
    first = [Validator().validate(*p).status for p in pairs]
    shuffled = list(enumerate(pairs))
    Random(3).shuffle(shuffled)
    together = Validator()
    second = {k: together.validate(*p).status for k, p in shuffled}
    assert first == [second[k] for k in range(len(pairs))]


def test_the_depth_of_a_step() -> None:
    assert depth_of(BY_ID["add_zero"]) == 1
    assert depth_of(BY_ID["mod_recombine"]) == 3
    assert depth_of(FOLDING) == 1
    assert depth_of(PROCEDURES[0]) > 1


# Mistakes that are planted --------------------------------------------------------------------------------------------


@rule(dtypes=[index, *ints])
def mod_recombine_shifted(x: Value, y: Value) -> Sides:
    """A constant that is off by one."""
    return (x // y) * y + x % y, x + 1


@rule(dtypes=[index])
def mul_idiv_common_unconditional(x: Value, c: Const, d: Const) -> Sides:
    """A condition that was dropped: c divides d."""
    given(c != 0, d != 0)
    return (x * c) // d, x // (d // c)


@rule(dtypes=[index])
def idiv_to_zero_widened(x: Interval, y: Interval) -> Sides:
    """A condition that lets one value too many in."""
    given(x.lo >= 0, x.hi <= y.lo, y.lo > 0)
    return x // y, 0


@rule
def flip_forgotten(x: Tensor, f: Flags) -> Sides:
    return x.flip(f), x


def _around(term: UOp) -> UOp:
    """A term deep inside a program of other operations."""
    if term.shape:
        return Op.Permute(Op.Mul(Op.Neg(term), term), arg=tuple(reversed(range(len(term.shape)))))  # type: ignore[no-any-return]
    return Op.Max(Op.Sub(const(7, term.dtype), Op.Mul(term, term)), Op.Neg(term))  # type: ignore[no-any-return]


I = Op.Add(Op.Mul(loop(5, 1), const(3, index)), loop(3, 2))  # noqa: E741  # the index of the examples
PLANTED = [
    (mod_recombine_shifted, Op.Add(Op.Mul(Op.Idiv(Op.Xor(X, Y), Y), Y), Op.Mod(Op.Xor(X, Y), Y)), 4),
    (mul_idiv_common_unconditional, Op.Idiv(Op.Mul(I, const(4, index)), const(6, index)), 2),
    (idiv_to_zero_widened, Op.Idiv(loop(5, 1), Op.Max(loop(3, 0), const(4, index))), 2),
    (flip_forgotten, Op.Flip(Op.Add(T, T), arg=(True, False)), 1),
]


@pytest.mark.parametrize(("planted", "term", "most"), PLANTED, ids=lambda p: getattr(p, "id", ""))
def test_a_wrong_rule_is_blamed_with_the_smallest_term(planted: Rule, term: UOp, most: int) -> None:
    seen = watched([_around(term)], planted)
    found = blamed(seen, planted.id)
    assert operations(found.before) <= most
    assert found.kind == "rule"
    assert found.where.startswith(__file__)
    assert found.statement == str(planted)
    assert seen.tallies[planted.id].wrong >= 1


@procedure(Op.Add, Op.Sub)
def collects_too_much(node: UOp, known: Knowledge) -> UOp | None:
    """Takes a difference for a sum where the same stands on both sides."""
    first, second = node.src
    return Op.Mul(first, broadcast_to(const(2, node.dtype), node.shape or ())) if first is second else None


def test_a_wrong_procedure_is_blamed() -> None:
    inner = Op.Xor(X, Y)
    seen = watched([_around(Op.Add(Op.Sub(inner, inner), Op.Add(inner, inner)))], collects_too_much)
    found = blamed(seen, "collects_too_much")
    assert found.kind == "procedure"
    assert operations(found.before) == 1
    assert "Sub" in found.before
    tally = seen.tallies["collects_too_much"]
    assert (tally.fired, tally.proved, tally.wrong) == (3, 2, 1)


@procedure(Op.Add)
def wrong_at_one_value(node: UOp, known: Knowledge) -> UOp | None:
    """Wrong at one value in 2^32, which no directed input is."""
    if node.dtype is not int32 or node.src[1].op is not Op.Const or node.src[0].op is not Op.Mul:
        return None
    odd = Op.CmpEq(node.src[0].src[0], const(123456789, int32))
    return Op.Where(odd, const(0, int32), Op.Add(node.src[1], node.src[0]))  # type: ignore[no-any-return]


def test_a_mistake_at_a_single_value_is_found_by_the_solver() -> None:
    p = param(0, int32)
    seen = watched([Op.Neg(Op.Add(Op.Mul(p, const(3, int32)), const(5, int32)))], wrong_at_one_value)
    found = blamed(seen, "wrong_at_one_value")
    assert dict(found.bindings) == {"p0": "Array(int32, (), (123456789,))"}


def test_an_engine_that_believes_too_much_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    unsure = Op.Index(param(1, bool_, (4,)), param(2, index))
    program = Op.Not(Op.Where(param(0, bool_), unsure, const(False, bool_)))
    assert watched([program], BY_ID["where_to_and"]).rewrites == 0
    monkeypatch.setattr(Facts, "always_valid", lambda *_: True)
    found = blamed(watched([program], BY_ID["where_to_and"]), "where_to_and")
    assert "INVALID" in found.test
    assert found.right.startswith("EvaluationError")


def test_bounds_that_the_engine_gets_wrong_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Op.CmpLt(Op.Mod(X, c(4)), c(3))
    assert watched([program], BY_ID["single_value"]).rewrites == 0
    yes = const(True, bool_)
    monkeypatch.setattr(Facts, "ends", lambda _, node: (yes, yes) if node.dtype is bool_ else None)
    blamed(watched([program], BY_ID["single_value"]), "single_value")


def test_a_kernel_may_read_less_than_before_but_not_store_other_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, a, b = (buffer(k, 3, int32) for k in range(3))
    i = loop(3, 0)

    def kernel(value: UOp) -> UOp:
        return Op.Sink(Op.End(Op.Store(Op.Index(out, i), value), i))  # type: ignore[no-any-return]

    x, y = (Op.Load(Op.Index(p, i)) for p in (a, b))
    graph = Graph("a kernel", kernel(Op.Sub(Op.Add(x, y), x)), lowered=True)
    seen = Watch([BY_ID["add_sub_cancel"]], Validator(None)).graph(graph, 2)
    assert (seen.findings, seen.compared) == ([], 1)
    from soundline.impl.rewriting.engine import Rewritten
    from soundline.verify.engine import watching

    monkeypatch.setattr(watching, "rewrite", lambda *_, **__: Rewritten(kernel(x), (), 0))
    (found,) = Watch([], Validator(None)).graph(graph, 2).findings
    assert found.message == "the kernel stores other values"


def test_the_engine_itself_is_blamed_where_no_step_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    from soundline.verify.engine import watching

    def broken(root: UOp, rules: object, **options: object) -> object:
        from soundline.impl.rewriting.engine import Rewritten

        return Rewritten(Op.Neg(root), (), 0)

    monkeypatch.setattr(watching, "rewrite", broken)
    (found,) = watched([Op.Add(X, Y)], BY_ID["add_zero"]).findings
    assert (found.step, found.kind) == ("engine", "engine")
    assert "after rewriting" in found.message


def test_rules_that_go_round_are_a_finding() -> None:
    @rule(dtypes=[int8])
    def round_about(x: Value, y: Value) -> Sides:
        return x - y, -(y - x)

    @rule(dtypes=[int8])
    def and_back(x: Value) -> Sides:
        return -(x - x), x - x

    @rule(dtypes=[int8])
    def back(x: Value, y: Value) -> Sides:
        return -(y - x), x - y

    (found,) = watched([Op.Sub(X, Y)], round_about, back, and_back).findings
    assert found.kind == "engine"
    assert found.step in ("round_about", "back")


# The corpus and the run -----------------------------------------------------------------------------------------------


def test_random_graphs_are_the_same_for_the_same_seed() -> None:
    for number in range(40):
        assert random_graph(1, number, SIMPLIFY).root is random_graph(1, number, SIMPLIFY).root
    assert random_graph(1, 3).root is not random_graph(2, 3).root
    roots = [random_graph(0, n, SIMPLIFY).root for n in range(120)]
    assert {n.dtype.kind for r in roots for n in toposort(r)} == {
        "bool",
        "int",
        "uint",
        "float",
        "index",
    } or {n.dtype.kind for r in roots for n in toposort(r)} >= {"bool", "index", "float"}
    assert {op for r in roots for n in toposort(r) for op in (n.op,)} > {
        Op.Reduce,
        Op.Pad,
        Op.Where,
        Op.Range,
        Op.Idiv,
    }


def test_the_compositions_are_there_with_gradients_and_kernels() -> None:
    found = [g for b in batches(0, 0, [COMPOSED]) for g in graphs_of(b, SIMPLIFY)]
    names = [g.name for g in found]
    assert any(n.startswith("gemm float32 2x3x2, gradient 1") for n in names)
    assert any(n.startswith("scatter_add int32") for n in names)
    assert sum(g.lowered for g in found) > 100
    assert len(set(names)) == len(names)


@pytest.mark.thorough
def test_onnx_models_are_there_where_onnx_is() -> None:
    wanted = batches(0, 0, [ONNX])
    if not has_onnx():
        assert wanted == []
        return
    found = list(graphs_of(wanted[0], SIMPLIFY))
    assert any(g.buffers for g in found)
    assert any(g.lowered for g in found)


@pytest.fixture(scope="module")
def small_run() -> Run:
    """Some hundreds of graphs: what `make test` runs of it."""
    return run_engine(EngineSettings(graphs=300, sources=(RANDOM,), cached=False))


def test_every_rewrite_of_a_small_run_is_judged_and_none_is_wrong(small_run: Run) -> None:
    whole = small_run.whole
    assert whole.findings == []
    assert whole.graphs == 300
    assert whole.rewrites == sum(t.fired for t in whole.tallies.values()) > 500
    for name, t in whole.tallies.items():
        assert t.fired == t.proved + t.evaluated + t.undecided + t.wrong, name
    assert sum(t.proved for t in whole.tallies.values()) >= 0.99 * whole.rewrites
    assert whole.compared > 150
    assert report.exit_code(small_run) == 0


def test_what_never_fired_is_listed(small_run: Run) -> None:
    silent = {s.id for s in report.never_fired(small_run)}
    assert silent == {s.id for s in (*SIMPLIFY, *PROCEDURES)} - set(small_run.whole.tallies)
    assert f"never fired ({len(silent)} of" in report.render(small_run)


def test_the_report_says_what_is_a_procedure(small_run: Run) -> None:
    found = report.as_json(small_run)
    steps = found["engine"]["steps"]
    assert steps["collect_terms"]["kind"] == "procedure, checked at each application"
    assert steps["constants"]["kind"] == "constants"
    assert found["summary"]["wrong"] == 0
    assert json.loads(json.dumps(found)) == found
    assert report.last_line(small_run).startswith("engine: ")
    verdicts = {r.id: r.verdict for r in report.as_report(small_run).rules}
    assert set(verdicts.values()) == {"proved"}


def test_a_run_with_planted_mistakes_names_each_of_them() -> None:
    kept = [BY_ID[name] for name in ("add_zero", "mul_one", "neg_neg", "and_self", "flip_flip")]
    run = run_engine(
        EngineSettings(graphs=80, sources=(RANDOM,), cached=False),
        steps=[mod_recombine_shifted, collects_too_much, *kept],
    )
    blamed_steps = {f.step for f in run.whole.findings if f.kind != "engine"}
    assert blamed_steps == {"mod_recombine_shifted", "collects_too_much"}
    assert report.exit_code(run) == 1
    text = report.render(run)
    assert "def test_mod_recombine_shifted_is_wrong():" in text
    assert "collects_too_much (procedure)" in text
    rules = {r.id: r for r in report.as_report(run).rules}
    assert rules["mod_recombine_shifted"].verdict == "refuted"
    assert rules["mod_recombine_shifted"].counterexample is not None


def test_processes_find_the_same() -> None:
    one = run_engine(EngineSettings(graphs=120, sources=(RANDOM,), cached=False))
    two = run_engine(EngineSettings(jobs=2, graphs=120, sources=(RANDOM,), cached=False))
    assert report.as_json(one)["engine"] == report.as_json(two)["engine"]


def test_steps_given_as_objects_run_in_one_process() -> None:
    with pytest.raises(UsageError, match="one process"):
        run_engine(EngineSettings(jobs=2, graphs=1), steps=SIMPLIFY)


# The command ----------------------------------------------------------------------------------------------------------


WRONG = """
from soundline.verify import Value, int8, rule

@rule(dtypes=[int8])
def sub_is_add(x: Value, y: Value):
    return x - y, x + y

@rule(dtypes=[int8])
def neg_neg(x: Value):
    return -(-x), x
"""


def test_the_command_judges_a_file_of_rules(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "mine.py"
    file.write_text(WRONG)
    arguments = [
        "verify",
        "--engine",
        "--corpus",
        "random",
        "--graphs",
        "60",
        "--jobs",
        "1",
        "--no-cache",
        "-q",
    ]
    assert main([*arguments, str(file)]) == 1
    said = capsys.readouterr().out
    assert "sub_is_add" in said
    assert "def test_sub_is_add_is_wrong():" in said
    target = tmp_path / "engine.json"
    assert main([*arguments, "--format", "json", "--output", str(target)]) == 0
    assert json.loads(target.read_text())["engine"]["random graphs"] == 60


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--graphs", "5"], "--engine"),
        (["--corpus", "onnx"], "--engine"),
        (["--engine", "--graphs", "many"], "not a number of graphs"),
        (["--engine", "--offline"], "--offline"),
        (["--engine", "--law"], "--law"),
        (["--engine", "no/such.py"], "rule files"),
    ],
)
def test_wrong_use_is_said(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", *arguments]) == 2
    assert said in capsys.readouterr().err


# The page -------------------------------------------------------------------------------------------------------------


def pages() -> Any:
    """The module that computes the page; the pages find each other by the path that conf.py adds."""
    folder = str(Path(__file__).resolve().parents[2] / "docs/_ext")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module("engine_pages")


def test_the_page_has_the_numbers_of_the_result(
    small_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, file = report.as_json(small_run), tmp_path / "engine.json"
    file.write_text(json.dumps(found))
    page = pages()
    monkeypatch.setattr(page, "RESULT", file)
    text = page.engine()
    assert f"{found['summary']['rewrites']:,} rewrites in 300 graphs" in text
    assert "none was found wrong" in text
    assert "--engine --corpus random --graphs 300" in text
    assert all(f"``{name}``" in text for name in found["engine"]["never fired"])
    monkeypatch.setattr(page, "RESULT", tmp_path / "none.json")
    assert "No result is committed" in page.engine()


def test_the_page_shows_a_blame_that_is_real() -> None:
    text = pages().blame()
    assert "✗ mul_idiv_common" in text
    assert "def test_mul_idiv_common_is_wrong():" in text
    assert "``collect_terms``" in pages().procedures()


OWN_PROCEDURE = """
from soundline.spec.dtypes import bool_
from soundline.spec.ops.node import Op
from soundline.verify import procedure

@procedure(Op.Add)
def add_is_sub(node, known):
    return Op.Sub(*node.src) if node.dtype is not bool_ else None
"""


def test_procedures_of_a_rule_file_are_applied_and_blamed(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN_PROCEDURE)
    run = run_engine(EngineSettings(graphs=40, sources=(RANDOM,), files=(str(file),), cached=False))
    assert run.steps[0].id == "add_is_sub"
    assert run.whole.tallies["add_is_sub"].wrong > 0


def test_an_id_that_two_steps_have_is_wrong_use(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN_PROCEDURE.replace("add_is_sub", "collect_terms"))
    with pytest.raises(UsageError, match="collect_terms is used twice"):
        run_engine(EngineSettings(graphs=1, sources=(RANDOM,), files=(str(file),), cached=False))
