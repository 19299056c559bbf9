"""The function decorator: one Function node per call, closed, and with the value of the function itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from soundline.impl.arrays import storage
from soundline.impl.program.compile import compile  # noqa: A004
from soundline.impl.tensors.core.functions import function
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.arrays.arrays import Array
from soundline.spec.errors import UsageError
from soundline.spec.evaluate import evaluate
from soundline.spec.uop import Op, toposort

A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = A * 10


def law(x: Tensor) -> Array:
    """The evaluator's value, Functions and all."""
    held = {n.arg.slot: storage.contents(n) for n in toposort(x.uop) if n.op is Op.Buffer}
    return evaluate(x.uop, buffers=held)


def check(x: Tensor, expected: Any) -> None:
    """Compiled and evaluated, the value is what is expected."""
    np.testing.assert_array_equal(x.numpy(), expected)
    np.testing.assert_array_equal(law(x).to_numpy(), expected)


def test_a_call_is_one_function_of_its_arguments() -> None:
    @function
    def add(a: Tensor, b: Tensor) -> Tensor:
        """The sum."""
        return a + b

    x, y = Tensor(A), Tensor(B)
    called = add(x, y)
    assert called.uop.op is Op.GetTuple
    node = called.uop.src[0]
    assert (node.op, node.src[1:]) == (Op.Function, (x.uop, y.uop))
    assert (add.__name__, add.__doc__) == ("add", "The sum.")
    assert law(called) == Array.from_numpy(A + B)
    check(called, A + B)


def test_a_tensor_given_twice_is_one_argument() -> None:
    @function
    def product(a: Tensor, b: Tensor) -> Tensor:
        return a * b

    x = Tensor(A)
    called = product(x, x)
    assert len(called.uop.src[0].src) == 2
    check(called, A * A)


def test_several_results_keep_their_container() -> None:
    @function
    def both(a: Tensor) -> tuple[Tensor, Tensor]:
        return a + 1, a.sum(0)

    @function
    def listed(a: Tensor) -> list[Tensor]:
        return [a]

    first, second = both(Tensor(A))
    check(first, A + 1)
    check(second, A.sum(0))
    assert isinstance(listed(Tensor(A)), list)


class Pair(NamedTuple):
    """A container of the caller's."""

    left: Tensor
    scale: float


def test_tensors_are_found_inside_containers_and_keywords() -> None:
    @function
    def f(pair: Pair, others: list[dict[str, Tensor]], *, shift: Tensor) -> Tensor:
        return pair.left * pair.scale + others[0]["b"] - shift

    called = f(Pair(Tensor(A), 2.0), [{"b": Tensor(B)}], shift=Tensor(1.0))
    check(called, A * 2 + B - 1)


def test_what_is_taken_from_outside_becomes_an_argument() -> None:
    outside = Tensor(B)

    @function
    def f(a: Tensor) -> Tensor:
        return a + outside

    called = f(Tensor(A))
    assert len(called.uop.src[0].src) == 3
    check(called, A + B)


def test_functions_call_functions_and_take_values_of_the_trace_around_them() -> None:
    @function
    def outer(a: Tensor, b: Tensor) -> Tensor:
        @function
        def inner(c: Tensor) -> Tensor:
            return c * b + a

        return inner(a + 1) - b

    check(outer(Tensor(A), Tensor(B)), (A + 1) * B + A - B)


def test_functions_compile_like_anything_else() -> None:
    @function
    def f(a: Tensor) -> Tensor:
        return (a @ a.T).softmax()

    program = compile(lambda a: f(a) + f(a + 1), A)
    plain = compile(lambda a: (a @ a.T).softmax() + ((a + 1) @ (a + 1).T).softmax(), A)
    np.testing.assert_array_equal(program(A), plain(A))


@pytest.mark.parametrize("result", [None, 3, (), (Tensor(1), 2)], ids=repr)
def test_other_results_are_refused(result: Any) -> None:
    with pytest.raises(UsageError):
        function(lambda a: result)(Tensor(A))
