"""
ONNX's node tests
=================

Every case of `onnx.backend.test.case.node` is imported and run twice: by the evaluator, which is the law, and as a
compiled program, whose results must be the evaluator's bit for bit. Both are held to the expected outputs, within the
tolerance of the suite for floats and exactly for everything else. A case whose graph asks for more than `LIMIT`
elements runs compiled alone. What cannot be imported is listed with its reason in ``onnx_cases.json``, which this
program writes::

    python tests/conformance/onnx_cases.py
"""

from __future__ import annotations

import functools
import json
import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from soundline.impl.importers.onnx import ImportedModel, from_onnx
from soundline.impl.importers.reading.errors import UnsupportedModel, ValueNeeded
from soundline.impl.lower.graphs.views import shape_of
from soundline.impl.program.compile import compile  # noqa: A004
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import to_numpy
from soundline.spec.evaluate import evaluate
from soundline.spec.uop import Op, UOp, toposort

Arrays = npt.NDArray[Any]
LISTED = Path(__file__).with_name("onnx_cases.json")
LIMIT = 1_000_000
"""The evaluator runs a case whose graph has at most so many elements, counted by `work`."""
BFLOAT16_TOLERANCE = 2.0**-6
"""The suite's own tolerance for bfloat16: two units in the last place."""
TOGETHER = 25
"""So many cases are compiled as one program."""
_WEIGHTS = {Op.Exp2: 30, Op.Log2: 30, Op.Sin: 60, Op.Pow: 90}


@dataclass(frozen=True, slots=True)
class Case:
    """A test case: a model, its inputs by name, and what it must give."""

    name: str
    model: Any
    inputs: Mapping[str, Any]
    outputs: Sequence[Any]
    rtol: float
    atol: float


@functools.cache
def all_cases() -> dict[str, Case]:
    """Every case of the installed suite, by name."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collected = collect_testcases(None)
    cases = [_case(c) for c in collected]
    return {c.name: c for c in cases}


def _case(given: Any) -> Case:
    (data,) = given.data_sets
    initialized = {i.name for i in given.model.graph.initializer}
    names = [i.name for i in given.model.graph.input if i.name not in initialized]
    inputs, outputs = ([_array(v) for v in row] for row in data)
    return Case(
        given.name, given.model, dict(zip(names, inputs, strict=True)), outputs, given.rtol, given.atol
    )


def _array(value: Any) -> Any:
    """A value of the suite as an array, if it is a tensor."""
    import onnx.numpy_helper

    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def imported(case: Case) -> tuple[ImportedModel, dict[str, Any]]:
    """The model of a case, and the inputs that had to be fixed because their values decide a shape."""
    fixed: dict[str, Any] = {}
    while True:
        try:
            return from_onnx(case.model, constants=fixed), fixed
        except UnsupportedModel as error:
            needed = [name for name in error.needed if name in case.inputs and name not in fixed]
            if error.operators or not needed or not all(isinstance(n, ValueNeeded) for n in error.nodes):
                raise
            fixed |= {name: case.inputs[name] for name in needed}


def work(model: ImportedModel) -> int:
    """How many elements the evaluator makes, the transcendental ones counted as the programs that they are."""
    total = 0
    for node in toposort(*model.results):
        if node.shape is not None and node.op not in (Op.Stack, Op.Const, Op.Buffer, Op.Load):
            total += math.prod(shape_of(node)) * _WEIGHTS.get(node.op, 1)
    return total


def evaluated(model: ImportedModel, arguments: Sequence[Any]) -> list[Arrays]:
    """The results by the law."""
    held = model.bindings(*arguments)
    return [_evaluated(u, held) for u in model.results]


def _evaluated(root: UOp, held: Mapping[int, Arrays]) -> Arrays:
    value = evaluate(root, buffers=held)
    return np.array(value.elements, dtype=to_numpy(root.dtype)).reshape(value.shape)


def check_close(found: Arrays, expected: Arrays, case: Case) -> None:
    """A result is what the suite expects: exactly, or for floats within its tolerance."""
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected)
        return
    rtol = max(case.rtol, BFLOAT16_TOLERANCE) if expected.dtype.name == "bfloat16" else case.rtol
    np.testing.assert_allclose(
        found.astype(np.float64), expected.astype(np.float64), rtol=rtol, atol=case.atol
    )


def check(case: Case, *, by_law: bool) -> None:
    """Run a case compiled, and if `by_law` by the evaluator."""
    model, _ = imported(case)
    arguments = [case.inputs[name] for name in model.inputs]
    compiled = model(*arguments)
    results = list(compiled) if isinstance(compiled, tuple) else [compiled]
    for found, expected in zip(results, case.outputs, strict=True):
        check_close(found, np.asarray(expected), case)
    if by_law:
        for found, lawful in zip(results, evaluated(model, arguments), strict=True):
            assert Array.from_numpy(found) == Array.from_numpy(lawful)


def check_together(cases: Sequence[Case], *, by_law: bool, profile: str = "exact") -> None:
    """Run cases as one compiled program, whose results are those of each, and if `by_law` each by the evaluator too."""
    models = [imported(case)[0] for case in cases]
    arguments = [[case.inputs[name] for name in m.inputs] for case, m in zip(cases, models, strict=True)]

    def together(*given: Tensor) -> list[Tensor]:
        rest = list(given)
        found: list[Tensor] = []
        for model in models:
            taken, rest = rest[: len(model.inputs)], rest[len(model.inputs) :]
            made = model._applied(taken)
            found += made if isinstance(made, tuple) else [made]
        return found

    flat = [a for row in arguments for a in row]
    results = list(compile(together, *flat, profile=profile)(*flat))
    for case, model, row in zip(cases, models, arguments, strict=True):
        own, results = results[: len(model.results)], results[len(model.results) :]
        try:
            for found, expected in zip(own, case.outputs, strict=True):
                check_close(found, np.asarray(expected), case)
            lawful = evaluated(model, row) if by_law else own
            for found, wanted in zip(own, lawful, strict=True):
                assert Array.from_numpy(found) == Array.from_numpy(wanted)
        except AssertionError as error:
            raise AssertionError(f"{case.name}: {error}") from error


def in_groups(names: Sequence[str]) -> list[list[str]]:
    """Names, so many of them together that compiling costs little for each."""
    return [list(names[k : k + TOGETHER]) for k in range(0, len(names), TOGETHER)]


def one_per_operator(names: Sequence[str]) -> list[str]:
    """Of each operator the first case that gives floats which the licences of the profile `fast` are about."""
    found: dict[str, str] = {}
    for name in names:
        case = all_cases()[name]
        if any(np.asarray(o).dtype in (np.float32, np.float64) for o in case.outputs):
            found.setdefault(operator(case), name)
    return list(found.values())


def operator(case: Case) -> str:
    """The operator that a case is about: that of its first node."""
    return str(case.model.graph.node[0].op_type)


# The list of cases ------------------------------------------------------------------------------------------------

_REASONS = {
    "a random number generator is no function of its inputs": (
        "Bernoulli RandomUniformLike RandomNormalLike RandomUniform RandomNormal Multinomial Dropout"
    ),
    "values are tensors: there are no sequences and no optional values": (
        "SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap "
        "SplitToSequence ConcatFromSequence Optional OptionalGetElement OptionalHasElement"
    ),
    "there are no strings": (
        "StringSplit StringNormalizer StringConcat RegexFullMatch TfIdfVectorizer LabelEncoder"
    ),
    "the shape of the result depends on values": "NonMaxSuppression Unique",
    "it decodes files": "ImageDecoder",
    "it is a step of training": "Adagrad Adam Momentum",
}
_BY_OPERATOR = {name: reason for reason, names in _REASONS.items() for name in names.split()}


_NOISE = "the expected output is 1.9e-7 where the exact one is 0, and the tolerance of the suite is 1e-7"
DIFFERING = {"test_dft_inverse": _NOISE, "test_dft_inverse_opset19": _NOISE}
"""Cases that are imported, and whose expected output is not the right one within the tolerance; why."""


def refusal(case: Case) -> tuple[str, str] | None:
    """The operator for whose sake a case is omitted, and why; None for a case that is imported."""
    if case.name in DIFFERING:
        return operator(case), DIFFERING[case.name]
    try:
        imported(case)
    except UnsupportedModel as error:
        return _explained(case, error)
    return None


def _explained(case: Case, error: UnsupportedModel) -> tuple[str, str]:
    used = operator(case)
    if error.operators:
        first = error.operators[0]
        return first.op_type, _BY_OPERATOR.get(first.op_type, "it is not translated")
    found = next((n for n in error.nodes if not isinstance(n, ValueNeeded)), error.nodes[0])
    if found.op_type in _BY_OPERATOR:
        return found.op_type, _BY_OPERATOR[found.op_type]
    return found.op_type if found.op_type not in ("input", "initializer") else used, found.reason


def listing() -> dict[str, Any]:
    """What becomes of every case of the installed suite."""
    import onnx

    both: list[str] = []
    compiled: list[str] = []
    fixed: dict[str, list[str]] = {}
    omitted: dict[tuple[str, str], list[str]] = {}
    for case in all_cases().values():
        reason = refusal(case)
        if reason is not None:
            omitted.setdefault(reason, []).append(case.name)
            continue
        model, constants = imported(case)
        (both if work(model) <= LIMIT else compiled).append(case.name)
        if constants:
            fixed[case.name] = sorted(constants)
    return {
        "suite": f"onnx {onnx.__version__}",
        "evaluated and compiled": sorted(both),
        "compiled only": sorted(compiled),
        "operators": {name: operator(all_cases()[name]) for name in sorted([*both, *compiled])},
        "with inputs fixed because their values decide a shape": dict(sorted(fixed.items())),
        "omitted": [
            {"operator": o, "reason": r, "cases": sorted(names)} for (o, r), names in sorted(omitted.items())
        ],
    }


def listed() -> dict[str, Any]:
    """The list as it is kept."""
    found: dict[str, Any] = json.loads(LISTED.read_text(encoding="utf-8"))
    return found


def counts(given: Mapping[str, Any]) -> dict[str, Any]:
    """How many cases there are of each kind."""
    both, compiled = given["evaluated and compiled"], given["compiled only"]
    omitted = [(row["operator"], row["reason"], len(row["cases"])) for row in given["omitted"]]
    by_reason: Counter[str] = Counter()
    for _, reason, number in omitted:
        by_reason[reason] += number
    return {
        "suite": given["suite"],
        "cases": len(both) + len(compiled) + sum(by_reason.values()),
        "passed": len(both) + len(compiled),
        "passed by the evaluator and compiled": len(both),
        "passed compiled only": len(compiled),
        "passed under the profile fast": len(one_per_operator(both)),
        "passed with shape inputs fixed": len(given["with inputs fixed because their values decide a shape"]),
        "not applicable": sum(by_reason.values()),
        "reasons": dict(by_reason.most_common()),
    }


if __name__ == "__main__":
    made = listing()
    LISTED.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(counts(made), indent=1))
