"""Second opinions: who agrees with a right verdict, and that every one of them catches a prover that lies."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import z3
from rich.console import Console

from soundline.spec.dtypes import bool_, float8_e4m3fn, float8_e5m2, from_bits, round_to
from soundline.spec.errors import UsageError
from soundline.spec.ops.node import Op, UOp
from soundline.spec.rules.language import Rule
from soundline.spec.uop import param
from soundline.verify import (
    Axes,
    Body,
    Bool,
    Const,
    Range,
    Size,
    Tensor,
    Value,
    bfloat16,
    fits,
    float16,
    float32,
    given,
    index,
    int8,
    int32,
    max_over,
    maximum,
    rule,
    uint8,
    where,
)
from soundline.verify.cli.main import main
from soundline.verify.judging.judge import prove, prove_layer
from soundline.verify.reports.report import Report
from soundline.verify.reports.text import opinions_line, show
from soundline.verify.second import batches, floats, operands, solvers
from soundline.verify.second.asked import Asked
from soundline.verify.second.opinions import ASKERS, available, chosen, with_opinions
from soundline.verify.second.solvers import Reply, Solver, element, is_installed
from soundline.verify.second.solving import opinion as opinion_of
from soundline.verify.smt import tensors
from soundline.verify.smt.goals.obligations import obligation_of
from soundline.verify.smt.goals.points import FAILS, HOLDS, OUT, Points
from soundline.verify.smt.goals.solving import Budget, listening
from soundline.verify.smt.proving import scalars
from soundline.verify.smt.proving.scalars import Finding
from soundline.verify.verdicts.layers import layers_of
from soundline.verify.verdicts.verdict import LayerResult, Opinion


def wants(*packages: str) -> pytest.MarkDecorator:
    missing = [p for p in packages if not is_installed(p)]
    return pytest.mark.skipif(
        bool(missing), reason=f"not installed: {', '.join(missing)} (soundline[solvers])"
    )


# the rules --------------------------------------------------------------------------------------------------------


@rule(dtypes=[index, int8, int32])
def mul_div(x: Value, c: Const):
    given(c != 0, fits(x * c))
    return (x * c) // c, x


@rule(dtypes=[index, int8, int32])
def mul_div_wrong(x: Value, c: Const):
    given(c >= 0)
    return (x * c) // c, x


@rule(dtypes=[index, uint8, int32])
def halves(x: Value):
    given(x >= 0, x < 100)
    return (x * 4 + 3) // 4, x


@rule(dtypes=[index, uint8, int32])
def halves_wrong(x: Value):
    given(x >= 0, x < 100)
    return (x * 4 + 5) // 4, x


@rule(dtypes=[float16, bfloat16, float32, float8_e5m2])
def commuted(x: Value, y: Value):
    return x + y, y + x


@rule(dtypes=[float16, bfloat16, float32, float8_e5m2])
def regrouped_wrong(x: Value, y: Value, z: Value):
    return (x + y) + z, x + (y + z)


@rule
def chosen_twice(p: Bool, q: Bool):
    return p & (q | p), p


@rule
def chosen_wrong(p: Bool, q: Bool):
    return p & (q | p), q


@rule
def padded_sum(x: Tensor["n"], y: Tensor["n"], m: Size):  # noqa: F821
    return x.pad((0,), (m,)) + y.pad((0,), (m,)), (x + y).pad((0,), (m,))


@rule
def padded_wrong(x: Tensor["n"], m: Size):  # noqa: F821
    return x.pad((0,), (m,)), x.pad((1,), (m,))


@rule(dtypes=[int8, int32, index])
def never(x: Value):
    given(x > 3, x < 2)
    return x + 1, x


RIGHT = (mul_div, halves, commuted, chosen_twice, padded_sum)
WRONG = (mul_div_wrong, halves_wrong, regrouped_wrong, chosen_wrong, padded_wrong)


def asked(stated: Rule, dtype: Any, *names: str) -> LayerResult:
    return prove_layer(stated, dtype, Budget(opinions=names))


def the_opinion(stated: Rule, dtype: Any, name: str) -> Opinion:
    (found,) = asked(stated, dtype, name).opinions
    return found


# right verdicts ---------------------------------------------------------------------------------------------------

ALL_LAYERS = [
    pytest.param(stated, dtype, id=f"{stated.id} {layer}")
    for stated in (*RIGHT, *WRONG, never)
    for layer, dtype in layers_of(stated)
]


@pytest.mark.parametrize(("stated", "dtype"), ALL_LAYERS)
def test_no_one_contradicts_a_right_verdict(stated: Rule, dtype: Any) -> None:
    bare = prove_layer(stated, dtype)
    found = asked(stated, dtype, *available())
    assert replace(found, opinions=()) == bare, "opinions change no verdict"
    assert [o.by.split(" ")[0] for o in found.opinions] == [
        {"operands": "small", "floats": "directed"}.get(n, n) for n in available()
    ]
    assert not found.bugs
    assert any(o.answer == "agrees" for o in found.opinions), list(found.opinions)
    for said in found.opinions:
        assert said.answer != "open" or said.detail, "who has no answer says why"


@wants("bitwuzla", "cvc5", "islpy")
@pytest.mark.parametrize(
    ("stated", "dtype", "name"),
    [
        (halves, int32, "operands"),
        (halves, int32, "bitwuzla"),
        (halves, int32, "cvc5"),
        (halves, int32, "islpy"),
        (halves, index, "islpy"),
        (halves, uint8, "islpy"),
        (chosen_twice, bool_, "islpy"),
        (mul_div, index, "cvc5"),
        (commuted, float32, "floats"),
        (commuted, float32, "bitwuzla"),
        (commuted, bfloat16, "cvc5"),
        (commuted, float8_e5m2, "operands"),
        (padded_sum, int32, "operands"),
        (padded_wrong, int32, "operands"),
        (padded_sum, int32, "cvc5"),
        (padded_sum, int32, "islpy"),
        (halves_wrong, index, "islpy"),
        (halves_wrong, int32, "bitwuzla"),
        (regrouped_wrong, float16, "bitwuzla"),
        (regrouped_wrong, float16, "floats"),
        (regrouped_wrong, bfloat16, "cvc5"),
        (chosen_wrong, bool_, "operands"),
        (never, int32, "islpy"),
        (never, int32, "bitwuzla"),
        (never, index, "cvc5"),
        (never, int8, "operands"),
    ],
    ids=str,
)
def test_who_knows_of_it_agrees(stated: Rule, dtype: Any, name: str) -> None:
    assert the_opinion(stated, dtype, name).answer == "agrees"


@wants("bitwuzla", "islpy")
@pytest.mark.parametrize(
    ("stated", "dtype", "name", "why"),
    [
        (mul_div, index, "bitwuzla", "bitwuzla has no unbounded integers"),
        (padded_sum, int32, "bitwuzla", "bitwuzla has no unbounded integers"),
        (commuted, bfloat16, "bitwuzla", "bitwuzla has no floats of this format"),
        (mul_div, index, "islpy", "a product or a quotient of variables"),
        (commuted, float32, "islpy", "float32 is not an integer"),
        (commuted, float32, "operands", "little of floats"),
        (padded_sum, int32, "floats", "about shapes"),
        (mul_div, int32, "floats", "no floats"),
        (halves_wrong, int32, "floats", "no floats"),
    ],
    ids=str,
)
def test_who_knows_nothing_of_it_says_why(stated: Rule, dtype: Any, name: str, why: str) -> None:
    found = the_opinion(stated, dtype, name)
    assert found.answer == "open"
    assert why in found.detail


@wants("cvc5")
def test_under_a_licence_of_rounding_nobody_else_has_an_answer() -> None:
    """Over the real numbers it would be proved, which is no proof (U-53)."""

    @rule(dtypes=[float32], licences=["reassociate"])
    def regrouped(x: Value, y: Value, z: Value):
        return (x + y) + z, x + (y + z)

    for name in ("cvc5", "bitwuzla", "floats"):
        assert the_opinion(regrouped, float32, name).answer == "open"

    @rule(dtypes=[float32], licences=["reassociate"])
    def negated(x: Value, y: Value, z: Value):
        return x - (y + z), (x - y) - z

    assert the_opinion(negated, float32, "cvc5").answer == "open"


def test_a_licensed_rounding_of_a_short_format_contradicts_nothing() -> None:
    """2 / 384 and 2 · (1 / 384) differ by a third at float8_e4m3fn, where 1 / 384 is less than every normal number."""

    @rule(dtypes=[float8_e4m3fn], licences=["reciprocal"])
    def by_reciprocal(x: Value, y: Value):
        return x / y, x * y.recip()

    @rule(dtypes=[float8_e4m3fn])
    def by_reciprocal_unlicensed(x: Value, y: Value):
        return x / y, x * y.recip()

    assert the_opinion(by_reciprocal, float8_e4m3fn, "operands").answer == "open"
    assert the_opinion(by_reciprocal_unlicensed, float8_e4m3fn, "operands").answer == "agrees"


# a prover that lies -----------------------------------------------------------------------------------------------


def lying(verdict: str, detail: str = "") -> Any:
    return lambda obligation, budget: Finding(verdict, "all values, by a lie", None, detail)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stated", "dtype", "name"),
    [
        pytest.param(halves_wrong, int32, "operands", id="operands"),
        pytest.param(halves_wrong, index, "operands", id="operands, index"),
        pytest.param(chosen_wrong, bool_, "operands", id="operands, bool"),
        pytest.param(regrouped_wrong, float8_e5m2, "operands", id="operands, float8"),
        pytest.param(regrouped_wrong, float32, "floats", id="floats"),
        pytest.param(regrouped_wrong, bfloat16, "floats", id="floats, bfloat16"),
        pytest.param(halves_wrong, int32, "bitwuzla", id="bitwuzla", marks=wants("bitwuzla")),
        pytest.param(regrouped_wrong, float16, "bitwuzla", id="bitwuzla, float", marks=wants("bitwuzla")),
        pytest.param(halves_wrong, int32, "cvc5", id="cvc5", marks=wants("cvc5")),
        pytest.param(mul_div_wrong, index, "cvc5", id="cvc5, index", marks=wants("cvc5")),
        pytest.param(regrouped_wrong, bfloat16, "cvc5", id="cvc5, float", marks=wants("cvc5")),
        pytest.param(halves_wrong, index, "islpy", id="islpy", marks=wants("islpy")),
        pytest.param(halves_wrong, int32, "islpy", id="islpy, int32", marks=wants("islpy")),
        pytest.param(chosen_wrong, bool_, "islpy", id="islpy, bool", marks=wants("islpy")),
    ],
)
def test_a_prover_that_calls_a_wrong_rule_proved_is_caught(
    stated: Rule, dtype: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scalars, "decide", lying("proved"))
    found = asked(stated, dtype, name)
    assert found.verdict == "proved"
    assert found.settled == "unknown"
    (said,) = found.opinions
    assert said.answer == "contradicts"
    assert "the sides differ at " in said.detail
    if name not in ("operands", "floats"):
        assert "as the evaluator confirms" in said.detail


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (int32, "operands"),
        pytest.param(int32, "bitwuzla", marks=wants("bitwuzla")),
        pytest.param(index, "cvc5", marks=wants("cvc5")),
        pytest.param(int32, "cvc5", marks=wants("cvc5")),
        pytest.param(index, "islpy", marks=wants("islpy")),
    ],
)
def test_a_prover_that_calls_a_rule_vacuous_which_is_not_is_caught(
    dtype: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scalars, "decide", lying("vacuous", "the condition excludes every input"))
    assert the_opinion(halves, dtype, name).answer == "contradicts"


@pytest.mark.parametrize(
    ("stated", "wrong", "dtype", "name"),
    [
        (chosen_twice, chosen_wrong, bool_, "operands"),
        pytest.param(halves, halves_wrong, int32, "bitwuzla", marks=wants("bitwuzla")),
        pytest.param(halves, halves_wrong, int32, "cvc5", marks=wants("cvc5")),
        pytest.param(halves, halves_wrong, index, "islpy", marks=wants("islpy")),
    ],
    ids=str,
)
def test_a_prover_that_calls_a_right_rule_refuted_is_caught(
    stated: Rule, wrong: Rule, dtype: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a counterexample that was never evaluated."""
    false = prove_layer(wrong, dtype).counterexample
    monkeypatch.setattr(
        scalars, "decide", lambda o, b: Finding("refuted", "a lie", replace(false, instance=o.label))
    )
    assert the_opinion(stated, dtype, name).answer == "contradicts"


@pytest.mark.parametrize(
    "name", [pytest.param("cvc5", marks=wants("cvc5")), pytest.param("islpy", marks=wants("islpy"))]
)
def test_a_solver_that_lies_about_shapes_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if Z3 found nothing that meets the denial of a wrong rule."""
    true = z3.Solver.check
    monkeypatch.setattr(
        z3.Solver, "check", lambda self, *a: z3.unsat if true(self, *a) == z3.sat else true(self, *a)
    )
    found = the_opinion(padded_wrong, int32, name)
    assert found.answer == "contradicts"
    assert "Z3 says unsat" in found.detail
    assert "(assert" in found.detail


def test_a_prover_that_calls_a_wrong_rule_about_shapes_proved_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tensors, "prove_rule", lambda *a: LayerResult("symbolic shapes", "proved", "a lie"))
    found = the_opinion(padded_wrong, int32, "operands")
    assert found.answer == "contradicts"
    assert "the sides differ at x = int32 (1,): [1], " in found.detail
    assert the_opinion(padded_sum, int32, "operands").answer == "agrees"
    monkeypatch.setattr(
        tensors, "prove_rule", lambda *a: LayerResult("symbolic shapes", "unknown", "", detail="hm")
    )
    assert asked(padded_wrong, int32, "operands").verdict == "refuted"
    assert asked(padded_sum, int32, "operands").verdict == "unknown"


def test_small_sizes_are_tried_at_more_ranks_than_a_proof_may_look_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sums of floats along two sets of axes go another way than along both: wrong from rank 2 on only."""

    @rule(dtypes=[float16])
    def sum_of_sum(x: Tensor, a: Axes, b: Axes):
        return x.sum(a).sum(b), x.sum(a | b)

    @rule(dtypes=[int8])
    def max_of_range(r: Range["n"], n: Size, f: Body["r"]):  # noqa: F821
        return max_over(r, f(r)), max_over(r, maximum(f(r), 0))

    @rule(dtypes=[float16], licences=["reassociate"])
    def licensed(x: Tensor, a: Axes, b: Axes):
        return x.sum(a).sum(b), x.sum(a | b)

    monkeypatch.setattr(tensors, "prove_rule", lambda *a: LayerResult("symbolic shapes", "proved", "a lie"))
    assert the_opinion(licensed, float16, "operands").answer == "open"
    found = the_opinion(sum_of_sum, float16, "operands")
    assert found.answer == "contradicts"
    assert "rank of x 2" in found.detail
    ranged = the_opinion(max_of_range, int8, "operands")
    assert ranged.answer == "contradicts"
    assert "r = range(" in ranged.detail


def test_a_contradiction_is_told_and_ends_with_a_code_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scalars, "decide", lying("proved"))
    report = Report((prove(halves_wrong, budget=Budget(opinions=("operands",))),), (), 0.1)
    assert report.exit_code == 4
    assert report.rules[0].verdict == "unknown"
    text = io.StringIO()
    show(report, Console(file=text, width=110, color_system=None))
    assert "small operands contradicts the verdict proved: the sides differ at x = " in " ".join(
        text.getvalue().split()
    )
    assert "3 contradictions" in opinions_line(report)


# mutants of those who are asked -----------------------------------------------------------------------------------


class Fixed(Solver):
    """A solver that always says the same."""

    NAME = "fixed"

    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    def _ask(self, text: str) -> Reply:
        return self.reply


def said_by(stated: Rule, dtype: Any, reply: Reply) -> Opinion:
    found = prove_layer(stated, dtype)
    questions: list[Any] = []
    with listening(lambda text, said: questions.append((text, said))):
        tensors_or_scalars = prove_layer(stated, dtype)
    assert tensors_or_scalars == found
    return opinion_of(Asked(stated, dtype, found, Budget(), questions), Fixed(reply))


@pytest.mark.parametrize("stated", [halves, padded_sum], ids=lambda r: r.id)
def test_a_solver_with_a_false_model_contradicts_and_is_not_confirmed(stated: Rule) -> None:
    found = said_by(stated, int32, Reply("sat", {"x": "#x00000007"}))
    assert found.answer == "contradicts"
    assert "does not confirm" in found.detail or "Z3 says unsat" in found.detail


def test_a_model_that_cannot_be_read_is_a_contradiction_all_the_same() -> None:
    assert said_by(halves, int32, Reply("sat", {"x": "(lambda (y) y)"})).answer == "contradicts"


def test_a_solver_without_an_answer_leaves_it_open() -> None:
    found = said_by(halves, int32, Reply("unknown", why="it is tired"))
    assert found == Opinion("fixed ", "open", "0 of 1 instance: it is tired")


def test_a_solver_that_proves_what_is_refuted_contradicts() -> None:
    assert said_by(halves_wrong, int32, Reply("unsat")).answer == "contradicts"
    assert said_by(never, int32, Reply("sat")).answer == "contradicts"
    assert said_by(never, int32, Reply("unsat")).answer == "agrees"


# what the prover leaves open --------------------------------------------------------------------------------------


def test_floats_settle_what_the_prover_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scalars, "decide", lying("unknown", "too hard"))
    found = asked(regrouped_wrong, float32, "floats")
    assert found.verdict == "refuted"
    assert "directed floats" in found.covered
    assert found.counterexample is not None
    assert not found.bugs
    exec(found.counterexample.test, space := {})  # type: ignore[var-annotated]
    space["test_regrouped_wrong_is_wrong"]()
    assert asked(commuted, float32, "floats").verdict == "unknown", "a search proves nothing"


def test_floats_are_searched_before_a_layer_is_called_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without being asked: a search that finds something is worth more than an honest unknown."""
    monkeypatch.setattr(scalars, "decide", lying("unknown", "too hard"))
    found = prove_layer(regrouped_wrong, float32)
    assert found.verdict == "refuted"
    assert "directed floats" in found.covered
    resisting = prove_layer(commuted, float32)
    assert resisting.verdict == "unknown"
    assert "directed elements: " in resisting.covered


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param("islpy", index, marks=wants("islpy")),
        pytest.param("cvc5", index, marks=wants("cvc5")),
        pytest.param("bitwuzla", int32, marks=wants("bitwuzla")),
    ],
)
def test_solvers_settle_what_the_prover_cannot(
    name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scalars, "decide", lying("unknown", "too hard"))
    found = asked(halves, dtype, name)
    assert found.verdict == "proved"
    assert f"by {name}" in found.covered
    assert "alone" in found.covered
    wrong = asked(halves_wrong, dtype, name)
    assert wrong.verdict == "refuted"
    assert wrong.counterexample is not None
    assert asked(never, dtype, name).verdict == "unknown", "what is vacuous is not proved"


# points -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stated", "dtype"), [(mul_div, int8), (mul_div_wrong, int8), (regrouped_wrong, float8_e5m2)], ids=str
)
def test_points_in_arrays_are_points_one_by_one(stated: Rule, dtype: Any) -> None:
    from soundline.spec.rules.instances import goals

    obligation = obligation_of(next(goals(stated, dtype)))
    _, _, points = operands.points(obligation, 0)
    one_by_one = Points(obligation)
    several = [p for k, p in enumerate(points) if k % 7 == 0]
    found = list(batches.outcomes(obligation, several))
    assert found == [(p, one_by_one.at(p)) for p in several]
    assert {o for _, o in found} & {HOLDS, FAILS, OUT}


def test_operands_of_few_bits() -> None:
    assert operands.operands(int32, 4) == [0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6, 7, -7, -8]
    assert operands.operands(uint8, 4) == list(range(16))
    assert operands.operands(bool_, 4) == [False, True]
    assert len(operands.operands(float8_e4m3fn, 8)) == 256
    assert len(operands.operands(uint8, 8)) == 256


@pytest.mark.parametrize("dtype", [float16, bfloat16, float32, float8_e5m2], ids=str)
def test_edges_of_floats_are_where_floats_change_their_ways(dtype: Any) -> None:
    edges = set(map(repr, floats.edges_of(dtype)))
    ulp = 2.0**-dtype.mantissa_bits
    for value in (
        0.0,
        -0.0,
        float("inf"),
        float("nan"),
        1.0 + ulp,
        1.0 - ulp / 2,
        2.0 - ulp,
        from_bits(dtype, 1),
    ):
        assert repr(value) in edges
    assert all(x != x or round_to(dtype, x) == x for x in floats.edges_of(dtype))
    assert floats.neighbours(dtype, 1.0) == [1.0 - ulp / 2, 1.0 + ulp]


def test_a_point_that_meets_hard_conditions_is_tried_with_its_neighbours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Conditions that no directed value meets: the solver's model is the way in."""

    @rule(dtypes=[float32])
    def narrow(x: Value):
        given(x > 1234.5, x < 1234.5005)
        return x, where(x > 1234.5003, x + 1, x)

    assert not any(1234.5 < e < 1234.5005 for e in floats.edges_of(float32))
    monkeypatch.setattr(scalars, "decide", lying("proved"))
    found = the_opinion(narrow, float32, "floats")
    assert found.answer == "contradicts"
    assert "x = 1234.500" in found.detail


# models -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "text", "value"),
    [
        (index, "5", 5),
        (index, "(- 5)", -5),
        (int8, "#xff", -1),
        (uint8, "#b11111111", 255),
        (bool_, "true", True),
        (bool_, "false", False),
        (float16, "(fp #b0 #b01111 #b1000000000)", 1.5),
        (float16, "(_ +oo 5 11)", float("inf")),
        (float16, "(_ -zero 5 11)", -0.0),
        (float32, "(/ 1 4)", 0.25),
        (float32, "(- (/ 1 4))", -0.25),
        (float32, "1.5", 1.5),
        (float8_e4m3fn, "#x38", 1.0),
    ],
)
def test_values_of_models_are_read(dtype: Any, text: str, value: Any) -> None:
    assert repr(element(dtype, text)) == repr(value)


def test_what_is_no_value_is_refused() -> None:
    assert element(float16, "(_ NaN 5 11)") != element(float16, "(_ NaN 5 11)")
    with pytest.raises(ValueError, match="not an integer"):
        element(index, "(/ 1 4)")


# options ----------------------------------------------------------------------------------------------------------


def test_whom_the_options_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen(False, []) == ()
    assert chosen(True, []) == available()
    monkeypatch.setattr(solvers, "is_installed", lambda name: False)
    monkeypatch.setattr("soundline.verify.second.opinions.is_installed", lambda name: False)
    assert chosen(True, []) == ("operands", "floats")
    with pytest.raises(UsageError, match="bitwuzla is not installed") as missing:
        chosen(False, ["bitwuzla"])
    assert "pip install 'soundline[solvers]'" in str(missing.value.hint)
    with pytest.raises(UsageError, match="no solver 'yices'"):
        chosen(False, ["yices"])


def test_every_asker_can_be_asked_by_name() -> None:
    assert set(ASKERS) == {"operands", "floats", "bitwuzla", "cvc5", "islpy"}
    found = with_opinions(halves, int32, Budget(), lambda: prove_layer(halves, int32))
    assert found.opinions == ()


FILE = """
from soundline.verify import *

@rule(dtypes=[index, int32])
def right_one(x: Value):
    given(x >= 0, x < 9)
    return (x * 4 + 3) // 4, x
"""


def test_the_command_counts_who_agrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOUNDLINE_CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "r.py"
    file.write_text(FILE)
    assert main(["verify", "-q", "--jobs", "1", "--second", str(file)]) == 0
    out = capfd.readouterr().out
    (line,) = [x for x in out.splitlines() if x.startswith("second opinions")]
    assert line.startswith("second opinions on 2 layers: small operands agrees on 2, ")
    assert line.endswith("; 0 contradictions")
    assert main(["verify", "-q", "--jobs", "1", "--second", "--format", "json", str(file)]) == 0
    data = json.loads(capfd.readouterr().out)
    assert data["summary"]["opinions"]["small operands"] == {"agrees": 2, "contradicts": 0, "open": 0}
    assert {o["by"].split()[0] for o in data["rules"][0]["opinions"]["unbounded"]} >= {"small", "directed"}
    assert data["summary"]["cached"] == 0
    assert main(["verify", "--second", "--offline", str(file)]) == 2
    assert main(["verify", "--solver", "yices", str(file)]) == 2


def test_nodes_that_are_no_variables_cannot_be_evaluated() -> None:
    from soundline.spec.rules.instances import goals

    obligation = obligation_of(next(goals(halves, int32)))
    assert batches.can_evaluate(obligation)
    stray = UOp(Op.Add, (obligation.left, param(99, int32)))
    assert not batches.can_evaluate(replace(obligation, left=stray))
