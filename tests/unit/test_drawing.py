"""The picture of a graph: well-formed SVG, nothing on top of anything, and edges between neighbouring layers."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

import soundline as sl
from soundline.impl.inspect.graphs import COLOURS, MOST, WIDEST, _layers, _place, _put_in_order, svg
from soundline.spec.dtypes import float32, index, int32
from soundline.spec.ops.schema import Group
from soundline.spec.ops.table import Op
from soundline.spec.ops.textual_form import stands_where_it_is_used
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


def width(picture: str) -> float:
    return float(ElementTree.fromstring(picture).attrib["width"])


def test_a_chain_that_is_too_long_is_reduced() -> None:
    x = param(0, int32)
    for _ in range(MOST + 1):
        x = Op.Neg(x)
    assert texts(svg(x.src[0].src[0]))[2] == "Neg"  # as many nodes as a picture may have are drawn
    assert texts(svg(x))[2:] == [f"{MOST + 1} nodes", f"Neg ×{MOST + 1}"]


def test_nodes_that_are_alike_share_a_box_where_the_picture_is_too_wide() -> None:
    x = param(0, int32)
    parts = [Op.Mul(x, const(k, int32)) for k in range(40)]
    picture = svg(Op.Tuple(*parts))
    assert any(t == "and 39 more like it" for t in texts(picture))
    assert 'stroke-dasharray="5 3"' in picture
    assert width(picture) <= WIDEST
    assert "more like it" not in "".join(texts(svg(Op.Tuple(*parts[:3]))))


def test_nodes_that_use_different_nodes_are_not_alike() -> None:
    a, b = param(0, int32), param(1, int32)
    parts = [Op.Mul(x, const(k, int32)) for k in range(30) for x in (a, b)]
    found = texts(svg(Op.Tuple(*parts)))
    assert found.count("and 29 more like it") == 2


def test_what_is_far_from_the_results_is_one_box() -> None:
    values = [Op.Reduce(param(k, float32, (4, 4)), arg=ReduceArg(Op.Add, (0,))) for k in range(MOST)]
    total = values[0]
    for value in values[1:]:
        total = Op.Contiguous(Op.Add(total, value))
    found = svg(total, most=20)
    assert found.count("<rect") == 20
    (rest,) = (t for t in texts(found) if t.endswith("nodes"))
    assert int(rest.split()[0]) + 19 == sum(not stands_where_it_is_used(n) for n in toposort(total))


@pytest.mark.parametrize("most", [1, 2, 5, 30])
def test_a_reduced_graph_is_a_graph(most: int) -> None:
    """Sources stand above users, whatever is reduced."""
    picture = svg(softmax(), most=most)
    assert 1 <= picture.count("<rect") <= max(most, 1)
    ElementTree.fromstring(picture)


def test_a_tensor_draws_itself() -> None:
    x = sl.Tensor(np.ones(3, np.float32))
    assert (x + 1)._repr_html_() == svg((x + 1).uop)


@pytest.mark.parametrize("roots", [(), (const(1, int32),), (Op.Sink(),)])
def test_the_smallest_graphs_are_drawn(roots: tuple[UOp, ...]) -> None:
    ElementTree.fromstring(svg(*roots))
