"""The law as a library: build a node, read its properties, compute it, break it. ``python examples/law.py``."""

from soundline.spec.derived_props import min_max
from soundline.spec.dtypes import int8, int32
from soundline.spec.errors import IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.table import TABLE, Op
from soundline.spec.uop import pad, param, reshape, tensor


def main() -> None:
    """Walk through the parts of the law."""
    x = param(0, int8, (2,), bounds=(0, 50))
    doubled = Op.Add(x, x)
    print(doubled.dtype, doubled.shape, min_max(doubled))
    print(evaluate(doubled, {0: [20, 50]}).elements)
    print(evaluate(pad(tensor([1, 2], int32), (1,), (4,))).elements)
    try:
        reshape(tensor([1, 2, 3]), (2, 2))
    except IllFormed as refused:
        print(refused.rule, "-", refused.wants)
    print(TABLE[Op.Idiv].semantics)


if __name__ == "__main__":
    main()
