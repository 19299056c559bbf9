"""Every differentiable method of Tensor against central differences, by the evaluator and compiled."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.executables.building import computed
from soundline.impl.tensors.core import history
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import float32
from soundline.spec.uop import Op, buffer

from .tensor_cases import law

STEP = 2.0**-18


@dataclass(frozen=True)
class Method:
    """A use of a method on tensors of these shapes; elements lie in (0.2, 0.95), no two alike."""

    use: Callable[..., Tensor]
    shapes: tuple[tuple[int, ...], ...] = ((2, 3),)


def of(use: Callable[..., Tensor], *shapes: tuple[int, ...]) -> Method:
    return Method(use, shapes or ((2, 3),))


MASK = np.array([[True, False, True], [False, True, True]])
AT = np.array([[0, 2, 1], [1, 1, 0]])

SHIFT = 3.0 * np.eye(3)

METHODS: dict[str, Method] = {
    # elementwise
    "abs": of(lambda x: (x - 0.5).abs()),
    **{
        n: of(lambda x, n=n: getattr(x, n)())
        for n in (
            *("acos", "asin", "asinh", "atan", "atanh", "cos", "cosh", "elu", "erf", "exp", "exp2", "expm1"),
            *("leaky_relu", "log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sigmoid", "silu", "sin"),
            *("gelu", "relu", "sinh", "softplus", "sqrt", "square", "tan", "tanh"),
        )
    },
    "gelu tanh": of(lambda x: x.gelu("tanh")),
    "acosh": of(lambda x: (x + 1).acosh()),
    **{n: of(lambda x, n=n: getattr(x, n)() * x) for n in ("ceil", "floor", "round", "sign", "trunc")},
    "clip": of(lambda x: x.clip(0.4, 0.8)),
    "clamp": of(lambda x, y: x.clamp(y, 0.9), (2, 3), (3,)),
    "lerp": of(lambda x, y, w: x.lerp(y, w), (2, 3), (2, 3), (3,)),
    "fmod": of(lambda x: (x * 3).fmod(0.7)),
    "pow": of(lambda x, y: x.pow(y), (2, 3), (2, 3)),
    "pow of a number": of(lambda x: x**2.5 + 2**x),
    "maximum": of(lambda x, y: x.maximum(y), (2, 3), (2, 3)),
    "minimum": of(lambda x, y: x.minimum(y), (2, 3), (3,)),
    "where": of(lambda x, y: Tensor(MASK).where(x, y), (2, 3), (2, 1)),
    "masked_fill": of(lambda x: x.masked_fill(MASK, 2.0)),
    "operators": of(lambda x, y: (x + y) * (x - y) / (y + 1) - -x + 2 / x - x / 3, (2, 3), (3,)),
    "cast": of(lambda x: x.cast(sl.float64)),
    # activations and numeric functions
    **{
        n: of(lambda x, n=n: getattr(x * 3 - 1.7, n)())
        for n in (
            *(
                "celu",
                "hardsigmoid",
                "hardswish",
                "hardtanh",
                "hardshrink",
                "logsigmoid",
                "mish",
                "relu6",
                "selu",
            ),
            *("softshrink", "softsign", "tanhshrink", "nan_to_num"),
        )
    },
    "threshold": of(lambda x: x.threshold(0.6, 0.1)),
    "prelu": of(lambda x, s: (x - 0.5).prelu(s), (2, 3), (3,)),
    "glu": of(lambda x: x.glu(0)),
    "atan2": of(lambda x, y: (x - 0.5).atan2(y - 0.6), (2, 3), (2, 3)),
    "hypot": of(lambda x, y: x.hypot(y), (2, 3), (3,)),
    "logaddexp": of(lambda x, y: x.logaddexp(y), (2, 3), (3,)),
    "copysign": of(lambda x, y: x.copysign(y - 0.5), (2, 3), (2, 3)),
    "diff": of(lambda x: x.diff(1, 0) * x.diff(1, 0)),
    "kron": of(lambda x, y: x.kron(y), (2, 1), (3,)),
    "cross": of(lambda x, y: x.cross(y), (2, 3), (3,)),
    "cosine_similarity": of(lambda x, y: x.cosine_similarity(y), (2, 3), (2, 3)),
    "normalize": of(lambda x: x.normalize(1)),
    "quantile": of(lambda x: x.quantile(0.3, 1)),
    "median": of(lambda x: x.median(1)),
    "bincount": of(lambda w: Tensor([0, 2, 2]).bincount(3, w), (3,)),
    # movement
    "astype": of(lambda x: x.astype(sl.float64)),
    "swapaxes": of(lambda x: x.swapaxes(0, 1)),
    "broadcast_to": of(lambda x: x.broadcast_to(2, 2, 3)),
    "pad_with": of(
        lambda x: x.pad_with([(1, 1), (2, 0)], "reflect") * x.pad_with([(0, 2), (1, 1)], "circular")
    ),
    "pixel_shuffle": of(lambda x: x.pixel_shuffle(2), (1, 4, 1, 2)),
    "reshape": of(lambda x: x.reshape(3, 2)),
    "view": of(lambda x: x.view(6)),
    "expand": of(lambda x: x.expand(4, 2, 3)),
    "flatten": of(lambda x: x.flatten()),
    "unflatten": of(lambda x: x.unflatten(1, (3, 1))),
    "unsqueeze": of(lambda x: x.unsqueeze(1)),
    "squeeze": of(lambda x: x.squeeze(), (2, 1, 3)),
    "permute": of(lambda x: x.permute(1, 0)),
    "transpose": of(lambda x: x.transpose(0, 1)),
    "T": of(lambda x: x.T),
    "mT": of(lambda x: x.mT),
    "movedim": of(lambda x: x.movedim(0, 2), (2, 1, 3)),
    "flip": of(lambda x: x.flip(1)),
    "pad": of(lambda x: x.pad(((1, 0), (0, 2)), 1.5)),
    "shrink": of(lambda x: x.shrink(((1, 2), (0, 2)))),
    "narrow": of(lambda x: x.narrow(1, 1, 2)),
    "split": of(lambda x: x.split(2, 1)[0]),
    "chunk": of(lambda x: x.chunk(2, 1)[1]),
    "unbind": of(lambda x: x.unbind(1)[2]),
    "roll": of(lambda x: x.roll(1, 1)),
    "cat": of(lambda x, y: Tensor.cat(x, y, x, axis=1), (2, 3), (2, 1)),
    "stack": of(lambda x, y: Tensor.stack(x, y, axis=1), (2, 3), (2, 3)),
    "repeat": of(lambda x: x.repeat(2, 2)),
    "tile": of(lambda x: x.tile(2, 1)),
    "repeat_interleave": of(lambda x: x.repeat_interleave(2, 1)),
    "contiguous": of(lambda x: x.contiguous()),
    "contiguous_backward": of(lambda x: x.contiguous_backward()),
    "meshgrid": of(lambda x, y: Tensor.meshgrid(x, y)[0] * Tensor.meshgrid(x, y)[1], (3,), (2,)),
    # reductions and scans
    **{n: of(lambda x, n=n: getattr(x, n)(1)) for n in ("sum", "mean", "var", "std", "prod", "max", "min")},
    "logsumexp": of(lambda x: x.logsumexp(0)),
    "norm": of(lambda x: x.norm(1)),
    "long sum": of(lambda x: (x * x).sum(), (300,)),
    **{n: of(lambda x, n=n: getattr(x, n)(1)) for n in ("cumsum", "cumprod", "cummax")},
    # selection
    "indexing": of(lambda x: x[:, ::-2] * x[1, None, 1:2] + x[AT[:, 0] % 2, 0:2]),
    "take": of(lambda x: x.take(AT, 1)),
    "gather": of(lambda x: x.gather(1, AT)),
    "scatter": of(lambda x, y: x.scatter(1, AT[:, :1], y), (2, 3), (2, 1)),
    "scatter_add": of(lambda x, y: x.scatter_add(1, AT, y), (2, 3), (2, 3)),
    "sort": of(lambda x: x.sort(1)[0]),
    "topk": of(lambda x: x.topk(2, 1)[0]),
    "diagonal": of(lambda x: x.diagonal(1)),
    "trace": of(lambda x: x.trace(), (3, 3)),
    "tril": of(lambda x: x.tril()),
    "triu": of(lambda x: x.triu(1)),
    # linear algebra
    "matmul": of(lambda x, y: x.matmul(y), (2, 3), (3, 2)),
    "dot": of(lambda x, y: x.dot(y), (3,), (3,)),
    "outer": of(lambda x, y: x.outer(y), (3,), (2,)),
    "linear": of(lambda x, w, b: x.linear(w, b), (2, 3), (2, 3), (2,)),
    "einsum": of(lambda x, y: Tensor.einsum("bij,bjk->ik", x, y), (2, 2, 3), (2, 3, 2)),
    # networks
    "softmax": of(lambda x: x.softmax(1)),
    "log_softmax": of(lambda x: x.log_softmax(0)),
    "scaled_dot_product_attention": of(
        lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True), (3, 2), (3, 2), (3, 2)
    ),
    "layer_norm": of(lambda x, w, b: x.layer_norm(-1, w, b), (2, 3), (3,), (3,)),
    "rms_norm": of(lambda x, w: x.rms_norm(-1, w), (2, 3), (3,)),
    "group_norm": of(lambda x, w: x.group_norm(2, w), (1, 4, 2), (4,)),
    "batch_norm": of(lambda x, w, b: x.batch_norm(None, None, w, b), (3, 2, 2), (2,), (2,)),
    "dropout": of(lambda x: x.dropout(0.5, key=3)),
    "conv1d": of(lambda x, w, b: x.conv1d(w, b, padding=1), (1, 2, 4), (2, 2, 2), (2,)),
    "conv2d": of(lambda x, w: x.conv2d(w, stride=2, padding=1), (1, 2, 3, 3), (2, 2, 2, 2)),
    "grouped conv2d": of(lambda x, w: x.conv2d(w, groups=2, dilation=2), (1, 2, 3, 3), (2, 1, 2, 2)),
    "max_pool2d": of(lambda x: x.max_pool2d(2, stride=1, padding=1), (1, 1, 3, 3)),
    "avg_pool2d": of(lambda x: x.avg_pool2d(2, padding=1, count_include_pad=False), (1, 1, 3, 3)),
    "conv_transpose1d": of(lambda x, w: x.conv_transpose1d(w, stride=2), (1, 2, 3), (2, 1, 2)),
    "conv_transpose2d": of(
        lambda x, w, b: x.conv_transpose2d(w, b, padding=1, groups=2), (1, 2, 2, 3), (2, 1, 2, 2), (2,)
    ),
    "max_pool1d": of(lambda x: x.max_pool1d(2, stride=1), (1, 2, 3)),
    "avg_pool1d": of(lambda x: x.avg_pool1d(2, padding=1), (1, 2, 3)),
    "adaptive_avg_pool2d": of(lambda x: x.adaptive_avg_pool2d(2), (1, 1, 3, 3)),
    "adaptive_max_pool2d": of(lambda x: x.adaptive_max_pool2d((1, 2)), (1, 1, 3, 3)),
    "interpolate": of(lambda x: x.interpolate((5, 4), "linear"), (1, 1, 2, 3)),
    "instance_norm": of(lambda x, w: x.instance_norm(w), (1, 2, 4), (2,)),
    "l1_loss": of(lambda x, y: x.l1_loss(y), (2, 3), (2, 3)),
    "huber_loss": of(lambda x, y: x.huber_loss(y, 0.2), (2, 3), (2, 3)),
    "smooth_l1_loss": of(lambda x, y: x.smooth_l1_loss(y, 0.2), (2, 3), (2, 3)),
    "kl_div": of(lambda x, y: x.kl_div(y), (2, 3), (2, 3)),
    "binary_cross_entropy": of(lambda x, y: x.binary_cross_entropy(y), (2, 3), (2, 3)),
    "mse_loss": of(lambda x, y: x.mse_loss(y), (2, 3), (2, 3)),
    "cross_entropy": of(lambda x: x.cross_entropy(np.array([2, 0]))),
    "nll_loss": of(lambda x: x.log().nll_loss(np.array([2, 0]))),
    "binary_cross_entropy_with_logits": of(
        lambda x, y: x.binary_cross_entropy_with_logits(y), (2, 3), (2, 3)
    ),
    # divisions and solving
    **{
        n: of(lambda x, y, n=n: getattr(x, n)(y), (2, 3), (3,))
        for n in ("add", "sub", "mul", "div", "remainder", "mod")
    },
    "floor_divide": of(lambda x, y: x.floor_divide(y * 0.3) * x, (2, 3), (3,)),
    "neg": of(lambda x: x.neg()),
    "masked_select": of(lambda x: x.masked_select(MASK)),
    "det": of(lambda x: x.det(), (3, 3)),
    "slogdet": of(lambda x: x.slogdet()[1], (2, 3, 3)),
    "inv": of(lambda x: (x + SHIFT).inv(), (3, 3)),
    "solve": of(lambda x, b: (x + SHIFT).solve(b), (3, 3), (3, 2)),
    "solve_triangular": of(lambda x, b: (x + SHIFT).solve_triangular(b, upper=True), (3, 3), (3, 2)),
    "cholesky": of(lambda x: (x + SHIFT).cholesky(), (3, 3)),
    "matrix_power": of(lambda x: (x + SHIFT).matrix_power(-3), (3, 3)),
}

OTHER = """
lt le gt ge nonzero unique is_stored
backward gradient grad requires_grad requires_grad_ is_leaf detach assign shape dtype ndim size nbytes uop of
numpy item tolist realize from_numpy from_dlpack from_buffer is_computable bitcast
device axis to shard shards allgather allreduce reduce_scatter reduce_to_one

arange bernoulli constant empty eye full full_like linspace normal ones ones_like rand randint randn random_keys
randperm uniform zeros zeros_like place one_hot

all any argmax argmin argsort count_nonzero eq ne isclose isfinite isinf isnan logical_and logical_not logical_or
logical_xor searchsorted isin
"""
"""What the table does not have: values, storage and devices (whose adjoints have tests of their own), what is made of
no tensor, and what gives integers or bools.
"""


def test_every_method_is_in_the_table_or_has_no_derivative() -> None:
    public = {n for n in dir(Tensor) if not n.startswith("_")}
    assert public - set(METHODS) - set(OTHER.split()) == set()


def values(name: str) -> list[np.ndarray]:
    """The operands of a method: distinct numbers between 0.2 and 0.95, in no order."""
    random = np.random.default_rng(len(name) * 31 + ord(name[0]))
    found = []
    for shape in METHODS[name].shapes:
        count = math.prod(shape)
        steps = (random.permutation(count) + random.uniform(0.3, 0.7, count)) / count
        found.append((0.2 + 0.75 * steps).reshape(shape))
    return found


def slope_and_difference(name: str) -> tuple[Tensor, Tensor]:
    """The derivative of Σ seed·f along a direction by the gradient, and by a central difference."""
    method, at = METHODS[name], values(name)
    random = np.random.default_rng(7)
    way = [random.uniform(-1, 1, v.shape) for v in at]
    seed = random.uniform(0.5, 1.5, method.use(*map(Tensor, at)).shape)

    def total(*xs: Tensor) -> Tensor:
        return (method.use(*xs) * seed).sum()

    xs = [Tensor(v) for v in at]
    slopes = [(g * w).sum() for g, w in zip(total(*xs).gradient(*xs), way, strict=True)]
    ahead, behind = (
        total(*(Tensor(v + sign * STEP * w) for v, w in zip(at, way, strict=True))) for sign in (1, -1)
    )
    return sum(slopes[1:], slopes[0]), (ahead - behind) / (2 * STEP)


@pytest.mark.parametrize("name", METHODS)
def test_the_gradient_is_the_central_difference(name: str) -> None:
    slope, difference = slope_and_difference(name)
    wanted: Any = law(difference.uop).item()
    assert law(slope.uop).item() == pytest.approx(wanted, rel=2e-8, abs=2e-9)


def test_compiled_gradients_are_the_law_s_bit_for_bit() -> None:
    """Of one method of each kind; what is elementwise compiles like any other program of its ops."""
    names = ["where", "pad", "roll", "prod", "cumsum", "cummax", "gather", "scatter_add", "sort", "einsum"]
    names += [
        "scaled_dot_product_attention",
        "layer_norm",
        "conv2d",
        "max_pool2d",
        "cross_entropy",
        "long sum",
    ]
    roots = [slope_and_difference(name)[0].uop for name in names]
    for name, root, found in zip(names, roots, computed(roots), strict=True):
        assert Array.from_numpy(found) == law(root), name


@pytest.mark.parametrize("factor", [1.001, -1.0])
def test_a_wrong_gradient_is_noticed(factor: float) -> None:
    slope, difference = slope_and_difference("layer_norm")
    wanted = law(difference.uop).item()
    assert law((slope * factor).uop).item() != pytest.approx(wanted, rel=2e-8, abs=2e-9)


def test_a_whole_graph_knows_the_stored_values_in_it() -> None:
    first, second, place = (buffer(slot, 4, float32) for slot in (9001, 9002, 9003))
    made = Op.Neg(history.leaf(place))
    assert history.kept(first, made) is first
    assert history.kept(second, Op.Exp2(first)) is second
    (found, alone), stored = history.whole([Op.Add(second, first), place])
    assert found is Op.Add(Op.Exp2(made), made)
    assert alone is place
    assert stored == {made: first, Op.Exp2(made): second}
    assert history.tracked(second)
    assert not history.tracked(Op.Detach(second))
