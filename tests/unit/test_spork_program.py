"""Programs as they are used from Python: run on numpy arrays, unfolded, checked, printed."""

from __future__ import annotations

import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import soundline as sl
from soundline.impl.spork import Builder, Proc, SporkProc, proc_from_text
from soundline.spec.dtypes import float32
from soundline.spec.errors import ProgramError
from soundline.spec.spork.machine.events import Action
from soundline.spec.spork.synchronization.visibility import Policy

ADD = """
def add(n: size, x: f32[n] @ CudaGmemLinear, y: f32[n] @ CudaGmemLinear):
    assert n % 2 == 0
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, n // 2):
            for t in cuda_threads(0, 2, unit=cuda_thread):
                x[task * 2 + t] += y[task * 2 + t]
"""


def refused(text: str, **arguments: Any) -> ProgramError:
    with pytest.raises(ProgramError) as caught:
        proc_from_text(text).run(**arguments)
    assert caught.value.rule == "seq-argument"
    return caught.value


@sl.spork.proc
def doubled(n: size, x: f32[n]):  # noqa: F821
    for i in seq(0, n):  # noqa: F821
        x[i] = x[i] * 2


def test_the_front_end_and_the_builder_make_programs_that_run() -> None:
    b = Builder("doubled")
    n = b.size("n")
    x = b.argument("x", float32, (n,))
    with b.seq("i", n) as i:
        b.assign(x[i], x[i] * 2)
    made = b.done()
    assert type(made) is type(doubled) is type(proc_from_text(doubled.text)) is SporkProc
    assert isinstance(made, Proc)
    assert made == doubled == proc_from_text(doubled.text)
    assert hash(made) == hash(doubled)
    assert doubled.text == str(doubled)
    values = np.array([1, 2, 3], np.float32)
    assert made.run(x=values) is None
    assert values.tolist() == [2.0, 4.0, 6.0]
    again = pickle.loads(pickle.dumps(made))
    assert again == made


def test_arrays_are_changed_in_place_and_sizes_are_their_shapes() -> None:
    add = proc_from_text(ADD)
    x, y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    add.run(x=x, y=y)
    assert x.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert y.tolist() == [1.0] * 4
    add.run(n=4, x=x, y=x.copy())
    assert x.tolist() == [2.0, 4.0, 6.0, 8.0]


def test_a_strided_array_is_changed_through_its_strides() -> None:
    base = np.zeros((3, 4), np.float32)
    proc_from_text("def f(x: f32[4, 3]):\n    x[1, 2] = 1.0\n").run(x=base.T)
    assert base[2, 1] == 1.0
    assert base.sum() == 1.0


def test_sizes_that_are_no_shape_are_given() -> None:
    text = "def f(n: size, m: index, x: f32[n + 1], b: bool):\n    if b:\n        x[m] = f32(n)\n"
    x = np.zeros(3, np.float32)
    proc_from_text(text).run(n=2, m=np.int64(1), x=x, b=np.bool_(True))
    assert x.tolist() == [0.0, 2.0, 0.0]
    refused(text, m=1, x=x, b=True)
    refused(text, n=3, m=1, x=x, b=True)
    refused(text, n=2, m=1, x=x, b=1)
    refused(text, n=2.0, m=1, x=x, b=True)


def test_shapes_that_disagree_are_refused() -> None:
    x, y = np.zeros(4, np.float32), np.zeros(6, np.float32)
    assert "6" in str(refused(ADD, x=x, y=y))
    assert refused(ADD, x=x, y=y).line == 2
    refused(ADD, n=6, x=x, y=x.copy())
    refused(ADD, x=x.reshape(2, 2), y=x)


@pytest.mark.parametrize(
    "odd", [np.zeros(4), np.zeros(4, np.int32), [0.0] * 4, 1.0, None, np.zeros(4, object)]
)
def test_arrays_have_the_dtype_of_their_argument(odd: Any) -> None:
    refused(ADD, n=4, x=np.zeros(4, np.float32), y=odd)


def test_arguments_are_all_given_and_known() -> None:
    x = np.zeros(4, np.float32)
    assert "y" in str(refused(ADD, x=x))
    assert "z" in str(refused(ADD, x=x, y=x.copy(), z=x))


def test_scalars_are_numbers_where_they_are_not_written() -> None:
    text = "def f(x: f32, y: f32[1], z: bf16, k: i8):\n    y[0] = x + f32(z) + f32(k)\n"
    y = np.zeros(1, np.float32)
    f = proc_from_text(text)
    f.run(x=0.5, y=y, z=ml_dtypes.bfloat16(2.0), k=-3)
    assert y.tolist() == [-0.5]
    f.run(x=np.array(1.5, np.float32), y=y, z=np.array(0, ml_dtypes.bfloat16), k=np.int8(1))
    assert y.tolist() == [2.5]
    refused(text, x=0.5, y=y, z=1.0, k=128)
    refused(text, x=0.5, y=y, z=1.0, k=1.5)
    refused(text, x=0.5, y=y, z=1.0, k=True)


def test_a_scalar_that_is_written_is_an_array_without_dimensions() -> None:
    text = "def f(x: f32):\n    x = x + 1.0\n"
    x = np.array(2.0, np.float32)
    proc_from_text(text).run(x=x)
    assert x == 3.0
    assert refused(text, x=2.0).hint is not None


def test_what_may_not_be_written_is_refused_before_anything_changes() -> None:
    text = "def f(a: f32[2], b: f32[2]):\n    a[0] = 1.0\n    b[0] = 2.0\n"
    a, b = np.zeros(2, np.float32), np.zeros(2, np.float32)
    b.flags.writeable = False
    refused(text, a=a, b=b)
    assert a.tolist() == [0.0, 0.0]
    reading = proc_from_text(text.replace("b[0] = 2.0", "a[1] = b[1]"))
    reading.run(a=a, b=b)
    assert a.tolist() == [1.0, 0.0]


def test_arguments_that_share_memory_are_only_read() -> None:
    text = "def f(a: f32[2], b: f32[2], c: f32[1]):\n    c[0] = a[0] + b[1]\n"
    x, c = np.array([1, 2, 4], np.float32), np.zeros(1, np.float32)
    proc_from_text(text).run(a=x[:2], b=x[1:], c=c)
    assert c.tolist() == [5.0]
    refused(text, a=x[:2], b=x[1:], c=x[:1])
    assert x.tolist() == [1.0, 2.0, 4.0]


def test_any_name_may_be_one_of_an_argument() -> None:
    text = "def f(self: f32[1], sizes: size, arguments: size):\n    self[0] = f32(sizes + arguments)\n"
    x = np.zeros(1, np.float32)
    f = proc_from_text(text)
    f.run(self=x, sizes=1, arguments=2)
    assert x.tolist() == [3.0]
    assert len(list(f.events(sizes=1, arguments=2))) == 2


def test_a_nan_is_no_change_and_the_sign_of_a_zero_is_one() -> None:
    text = "def f(x: f32[2]):\n    x[0] = x[0] + 1.0\n    x[1] = -x[1]\n"
    x = np.array([np.nan, 0.0], np.float32)
    proc_from_text(text).run(x=x)
    assert np.isnan(x[0])
    assert np.signbit(x[1])
    x.flags.writeable = False
    proc_from_text(text.replace("x[1] = -x[1]", "pass")).run(x=x)


def test_events_and_checks_are_those_of_the_law() -> None:
    add = proc_from_text(ADD)
    actions = [e for e in add.events(n=4) if isinstance(e, Action)]
    assert len(actions) == 4
    assert len(list(add.events(n=np.int32(4)))) == len(list(add.events(n=4)))
    assert add.check(n=np.int64(4)).ok
    verdict = add.check(n=4)
    assert verdict.ok
    assert verdict.policy is Policy.temporal
    assert add.check(policy=Policy.strict, n=4).policy is Policy.strict
    racy = proc_from_text(ADD.replace("x[task * 2 + t] +=", "x[0] +="))
    assert not racy.check(n=4).ok
    with pytest.raises(ProgramError):
        add.check(n=3)
