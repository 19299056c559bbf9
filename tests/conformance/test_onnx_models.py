"""ONNX's stored models, most of them exported from PyTorch: each gives the outputs that are stored beside it."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import soundline as sl

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
import onnx_cases as suite
from float_cases import Counts
from representative import of_each_family

SPEC = importlib.util.find_spec("onnx")
assert SPEC is not None
assert SPEC.submodule_search_locations is not None
DATA = Path(SPEC.submodule_search_locations[0]) / "backend/test/data"
COUNTS = {"pytorch-converted": 82, "pytorch-operator": 35, "simple": 23}
OMITTED = {"test_gradient": "Gradient", "test_sequence": "Sequence", "test_strnorm": "StringNormalizer"}
"""The beginning of the names of models that are not imported, and an operator or part of one that they use."""


def operator_omitted(name: str) -> str | None:
    """For the sake of which operator a model is omitted."""
    return next((operator for start, operator in OMITTED.items() if name.startswith(start)), None)


NAMES = [f"{kind}/{d.name}" for kind in COUNTS for d in sorted((DATA / kind).iterdir()) if d.is_dir()]
APPLICABLE = [n for n in NAMES if operator_omitted(n.split("/")[1]) is None]


def counts() -> Counts:
    """The models that pass, and those that do not apply."""
    return Counts(len(APPLICABLE), len(NAMES) - len(APPLICABLE))


def family(name: str) -> list[str]:
    """What a model is about: the first letters of its name, without sizes and variants."""
    kind, _, own = name.partition("/test_")
    found = re.match(r"(?:operator_)?[A-Za-z]+", own)
    assert found is not None
    return [f"{kind} {found.group()}"]


def stored(name: str) -> suite.Case:
    """A model with its inputs and outputs."""
    import onnx.numpy_helper

    def values(kind: str) -> list[Any]:
        count = len(list(folder.glob(f"{kind}_*.pb")))
        files = [folder / f"{kind}_{k}.pb" for k in range(count)]
        return [onnx.numpy_helper.to_array(onnx.load_tensor(str(f))) for f in files]

    model = onnx.load(str(DATA / name / "model.onnx"))
    folder = DATA / name / "test_data_set_0"
    initialized = {i.name for i in model.graph.initializer}
    inputs = [i.name for i in model.graph.input if i.name not in initialized]
    given = dict(zip(inputs, values("input"), strict=True))
    return suite.Case(name, model, given, values("output"), 1e-3, 1e-7)


def test_onnx_models_are_all_there() -> None:
    assert {k: sum(n.startswith(f"{k}/") for n in NAMES) for k in COUNTS} == COUNTS
    assert len(APPLICABLE) == 124


@pytest.mark.parametrize("name", of_each_family(APPLICABLE, family))
def test_onnx_model(name: str) -> None:
    case = stored(name)
    suite.check(case, by_law=suite.work(suite.imported(case)[0]) <= suite.LIMIT)


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(APPLICABLE)))
def test_onnx_an_omitted_model_is_refused_for_its_operator(name: str) -> None:
    with pytest.raises(sl.UnsupportedModel) as caught:
        sl.from_onnx(DATA / name / "model.onnx")
    wanted = operator_omitted(name.split("/")[1])
    assert wanted is not None
    assert any(wanted in row.op_type for row in caught.value.operators)


@pytest.mark.parametrize("name", ["bvlc_alexnet", "densenet121", "resnet50", "shufflenet", "squeezenet"])
def test_onnx_a_whole_network_is_imported(name: str) -> None:
    """Its graph alone: the weights that are stored with it are constants, and there is nothing to learn from values."""
    imported = sl.from_onnx(DATA / "light" / f"light_{name}.onnx")
    (given,), (made,) = imported.inputs.values(), imported.outputs.values()
    assert given.shape == (1, 3, 224, 224)
    assert made.size == 1000
