"""The picture of a graph: well-formed SVG, nothing on top of anything, and edges between neighbouring layers."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

import soundline as sl
from soundline.impl.drawing import COLOURS, MOST, _layers, _place, _put_in_order, svg
from soundline.spec.dtypes import float32, index, int32
from soundline.spec.op_schema import Group
from soundline.spec.ops import Op
from soundline.spec.uop import ReduceArg, UOp, broadcast_to, const, param, toposort

NAMESPACE = "{http://www.w3.org/2000/svg}"
N = param(0, index)
X = param(1, float32, (N, 4))


def texts(picture: str) -> list[str]:
    return [t.text or "" for t in ElementTree.fromstring(picture).iter(f"{NAMESPACE}text")]


def test_a_graph_is_drawn_with_what_each_node_says() -> None:
    scaled = Op.Mul(X, broadcast_to(const(0.5, float32), (N, 4)))
    picture = svg(Op.Reduce(scaled, arg=ReduceArg(Op.Max, (1,))))
    assert texts(picture) == [
        "Param([]) slot=0, dtype=index",
        "index[]",
        "Param([n0, 4]) slot=1, dtype=float32",
        "float32[n0, 4]",
        "Mul(·, 0.5:float32)",
        "float32[n0, 4]",
        "Reduce op=Max, axes=(1,)",
        "float32[n0, 1]",
    ]
    assert picture.count("<path") == 2


def test_markup_in_a_program_is_text() -> None:
    assert texts(svg(Op.Custom(arg="</svg><b>&"))) == ["Custom '</svg><b>&'"]


def test_every_group_has_a_colour() -> None:
    assert set(COLOURS) == set(Group.__args__)  # type: ignore[attr-defined]


def softmax() -> UOp:
    x = sl.Tensor(np.ones((4, 5), np.float32))
    return (x @ sl.Tensor(np.ones((5, 3), np.float32))).softmax(-1).uop


def test_boxes_stand_apart_and_edges_join_neighbouring_layers() -> None:
    layers = _layers([n for n in toposort(softmax()) if n.op is not Op.Const])
    _put_in_order(layers)
    _place(layers)
    where = {id(box): n for n, layer in enumerate(layers) for box in layer}
    for n, layer in enumerate(layers):
        for left, right in pairwise(layer):
            assert left.x + left.width < right.x
        for box in layer:
            assert all(where[id(b)] == n + 1 for b in box.below)
    for above, below in pairwise(layers):
        assert max(b.y + b.height for b in above) < min(b.y for b in below)


def test_an_order_with_fewer_crossings_is_found() -> None:
    a, b = (Op.Neg(param(k, int32)) for k in range(2))
    swapped = Op.Tuple(Op.Neg(b), Op.Neg(a))
    layers = _layers(list(toposort(swapped)))
    _put_in_order(layers)
    names = [[box.node for box in layer] for layer in layers]
    assert [n.src[0] for n in names[-2] if n is not None] == names[-3]


def test_a_graph_that_is_too_large_is_shown_as_text() -> None:
    x = param(0, int32)
    for _ in range(MOST + 1):
        x = Op.Neg(x)
    assert svg(x).startswith("<pre>%0 = Param(")
    assert "<svg" in svg(x.src[0].src[0])


def test_a_tensor_draws_itself() -> None:
    x = sl.Tensor(np.ones(3, np.float32))
    assert (x + 1)._repr_html_() == svg((x + 1).uop)


@pytest.mark.parametrize("roots", [(), (const(1, int32),), (Op.Sink(),)])
def test_the_smallest_graphs_are_drawn(roots: tuple[UOp, ...]) -> None:
    ElementTree.fromstring(svg(*roots))
