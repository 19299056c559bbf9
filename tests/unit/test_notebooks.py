"""What notebooks and rich show: tensors, programs, nodes, certificates."""

from __future__ import annotations

import io
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

import soundline as sl
from soundline.impl.compilation.certificate import AppliedRule, Certificate, Derived
from soundline.impl.evidence import Ruling
from soundline.impl.inspect.graphs import svg

X = np.ones((4, 5), np.float32)


def rich(value: Any) -> str:
    text = io.StringIO()
    Console(file=text, width=200, color_system=None).print(value)
    return text.getvalue()


def program() -> sl.Program:
    return sl.compile(lambda x: (x @ x.T).sum(0), X)


def test_a_node_draws_itself() -> None:
    node: Any = (sl.Tensor(X) + 1).uop
    assert node._repr_html_() == svg(node)
    kernels: Any = program().stages["rangeify"]
    assert "kernel 0" in kernels._repr_html_()
    ElementTree.fromstring(kernels._repr_html_())


def test_a_node_tells_rich_what_it_is() -> None:
    text = rich((sl.Tensor(X) + 1).uop)
    assert "Add" in text
    assert "float32" in text
    assert "nodes=" in text
    assert "arg" not in text  # which it has none
    assert "Sink" in rich(program().stages["rangeify"].src[0])


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: sl.Tensor(X), ["Tensor", "shape=(4, 5)"]),
        (program, ["Program", "inputs=['float32[4, 5]']", "kernels="]),
        (lambda: program().certificate, ["Certificate", "profile='exact'", "rules="]),
        (lambda: program().explain(), ["kernel 0", "memory"]),
    ],
    ids=["tensor", "program", "certificate", "explanation"],
)
def test_rich_shows_what_matters(make: Any, parts: list[str]) -> None:
    text = rich(make())
    assert [p for p in parts if p not in text] == []


def test_a_certificate_is_a_table() -> None:
    rule, step = AppliedRule("a<b", 3, Ruling("refuted")), Derived("callify", "a<b, 3 times", "refuted")
    found = Certificate("fast", ("contract",), (rule,), (), (step,))
    page = found._repr_html_()
    assert "<td>a&lt;b, 3 times</td><td>refuted</td>" in page
    assert "a<b" not in page
    assert not found.proved
