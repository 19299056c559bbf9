"""What a Call takes besides Functions: custom functions in C and in Python, and compiled programs."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from soundline.impl import toolchain
from soundline.impl.arrays import storage
from soundline.impl.executables import foreign
from soundline.impl.executables.signatures import Signature
from soundline.impl.program.compile import compile  # noqa: A004
from soundline.impl.program.custom import CustomFunction
from soundline.impl.runtime.host import host
from soundline.impl.tensors.core.functions import function
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import bfloat16, bool_, float32, float64, int32
from soundline.spec.errors import EvaluationError, GradientError, ToolchainError, UsageError
from soundline.spec.evaluate import evaluate
from soundline.spec.uop import Op, param, toposort

F4 = Signature(float32, (4,))
X = np.array([1.0, -2.0, 3.5, 0.25], np.float32)
NUMBERS = itertools.count()
SCALED = """static float factor = 3.0f;
static void {name}(const float *x, float *y) {{
    for (int k = 0; k < 4; k++) y[k] = x[k] * factor;
}}"""


def named(stem: str) -> str:
    return f"{stem}_{next(NUMBERS)}"


def scaled(**more: Any) -> CustomFunction:
    name = named("scaled")
    text = SCALED.format(name=name).replace("factor", f"factor_{name}")
    return CustomFunction(name, takes=[F4], gives=[F4], c=text, **more)


def in_python(compute: Any, takes: Any = (F4,), gives: Any = (F4,), **more: Any) -> CustomFunction:
    return CustomFunction(named("python"), takes=takes, gives=gives, call=compute, **more)


def law(x: Tensor) -> np.ndarray:
    """The evaluator's value: custom functions by their references."""
    held = {n.arg.slot: storage.contents(n) for n in toposort(x.uop) if n.op is Op.Buffer}
    return evaluate(x.uop, buffers=held, functions=foreign.references()).to_numpy()


def same(a: Any, b: Any) -> None:
    assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


# In C -------------------------------------------------------------------------------------------------------------


def test_a_text_in_c_is_part_of_the_one_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    host()
    runs: list[Path] = []
    true = toolchain.Compiler.build
    monkeypatch.setattr(toolchain.Compiler, "build", lambda c, s, t: (runs.append(s), true(c, s, t))[1])
    monkeypatch.setenv("SOUNDLINE_CACHE_DIR", str(tmp_path))
    f = scaled(reference=lambda x: x * 3.0)
    program = compile(lambda x: f(f(x + 1)) - x, X)
    assert len(runs) == 1
    assert program.source.count(f"void {f.name}(") == 1
    assert program.source.count(f"{f.name}(b") == 1  # one kernel
    assert program.command_count == 4  # x + 1, f, f, and the difference
    same(program(X), (X + 1) * 9 - X)
    same(law(f(f(Tensor(X) + 1)) - Tensor(X)), program(X))
    f.check(X)


def test_every_form_of_element_reaches_it() -> None:
    name = named("mixed")
    text = f"""static void {name}(const int32_t *n, const uint8_t *p, const uint16_t *h,
                            double *a, uint8_t *q, uint16_t *g) {{
        for (int k = 0; k < 3; k++) {{ a[k] = p[k] ? n[k] : 0.5; q[k] = !p[k]; g[k] = h[k] ^ 0x8000; }}
    }}"""
    takes = [Signature(int32, (3,)), Signature(bool_, (3,)), Signature(bfloat16, (1, 3))]
    gives = [Signature(float64, (3,)), Signature(bool_, (3,)), Signature(bfloat16, (3, 1))]
    reference = lambda n, p, h: (p.where(n.cast(float64), 0.5), p.logical_not(), -h.reshape(3, 1))  # noqa: E731
    f = CustomFunction(name, takes=takes, gives=gives, c=text, reference=reference)
    given = (
        np.array([4, 5, 6], np.int32),
        np.array([1, 0, 1], bool),
        np.array([[1, 2, 3]], ml_dtypes.bfloat16),
    )
    f.check(*given)
    a, q, g = compile(f, *given)(*given)
    assert a.tolist() == [4.0, 0.5, 6.0]
    assert q.tolist() == [False, True, False]
    assert g.ravel().tolist() == [-1.0, -2.0, -3.0]


def test_text_that_does_not_compile_is_told_with_its_command() -> None:
    name = named("broken")
    f = CustomFunction(
        name, takes=[F4], gives=[F4], c=f"void {name}(const float *x, float *y) {{ this is no C }}"
    )
    with pytest.raises(ToolchainError, match=r"(?s)error"):
        compile(f, X)


def test_a_wrong_text_is_seen_by_its_check() -> None:
    f = scaled(reference=lambda x: x * 2.0)
    with pytest.raises(UsageError, match=r"result 0 has 3.0 at \(0,\); the reference gives 2.0"):
        f.check(X)
    with pytest.raises(UsageError, match="no reference"):
        scaled().check(X)


# In Python --------------------------------------------------------------------------------------------------------


def test_a_function_in_python_is_called_back() -> None:
    seen: list[bool] = []

    def compute(x: np.ndarray) -> np.ndarray:
        seen.append(x.flags.writeable)
        return np.sort(x)

    f = in_python(compute, reference=lambda x: x.sort()[0] if isinstance(x.sort(), tuple) else x.sort())
    program = compile(lambda x: f(x * 2) + f(x), X)
    same(program(X), np.sort(X * 2) + np.sort(X))
    assert seen == [False, False]
    f.check(X)


def test_several_results_and_empty_arrays() -> None:
    empty = Signature(float32, (0, 3))
    f = in_python(lambda x, e: (x[::-1], e, x.sum()), (F4, empty), (F4, empty, Signature(float32, ())))
    back, nothing, total = compile(f, X, np.zeros((0, 3), np.float32))(X, np.zeros((0, 3), np.float32))
    same(back, X[::-1].copy())
    assert nothing.shape == (0, 3)
    assert total == X.sum()


@pytest.mark.parametrize(
    ("compute", "says"),
    [
        (lambda x: x.astype(np.float64), "it returned float64"),
        (lambda x: x[:2], r"it returned float32\[2\]"),
        (lambda x: (x, x), "it returned"),
        (lambda x: None, "it returned object"),
        (lambda x: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda x: x.__setitem__(0, 1), "read-only"),
    ],
    ids=["dtype", "shape", "number", "none", "raises", "writes"],
)
def test_what_goes_wrong_in_python_is_a_usage_error(compute: Any, says: str) -> None:
    f = in_python(compute)
    program = compile(lambda x: f(x) + 1, X)
    for _ in range(2):
        with pytest.raises(UsageError, match=says):
            program(X)
    with pytest.raises(UsageError, match=says):
        (f(Tensor(X)) + 1).numpy()
    same(compile(lambda x: x + 1, X)(X), X + 1)  # and nothing of it stays


def test_failures_belong_to_the_thread_that_ran() -> None:
    def compute(x: np.ndarray) -> np.ndarray:
        if x[0] < 0:
            raise ValueError("negative")
        return x

    f = in_python(compute)
    program = compile(lambda x: f(x) * 2, X)
    failures: dict[float, int] = {1.0: 0, -1.0: 0}

    def work(sign: float) -> None:
        for _ in range(100):
            try:
                same(program(np.full(4, sign, np.float32)), np.full(4, 2 * sign, np.float32))
            except UsageError:
                failures[sign] += 1

    threads = [threading.Thread(target=work, args=(s,)) for s in failures]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == {1.0: 0, -1.0: 100}


# Declarations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "more", "says"),
    [
        ("no name", {"call": abs}, "is not a name"),
        ("kernel_0", {"call": abs}, "is not a name"),
        ("sl_max_f32", {"call": abs}, "is not a name"),
        ("neither", {}, "either C code or a Python function"),
        ("twice", {"call": abs, "c": "void twice(void) {}"}, "either C code or a Python function"),
        ("other", {"c": "void another(const float *x, float *y) {}"}, "does not define void other"),
        ("untyped", {"call": abs, "gives": [np.float32]}, "expected Signatures"),
        ("nothing", {"call": abs, "gives": []}, "at least one for a result"),
    ],
    ids=lambda v: v if isinstance(v, str) else "-",
)
def test_wrong_declarations_are_refused(name: str, more: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        CustomFunction(name, **{"takes": [F4], "gives": [F4], **more})
    assert name not in foreign._REGISTERED


def test_names_are_taken_once() -> None:
    f = scaled()
    with pytest.raises(UsageError, match="already"):
        CustomFunction(f.name, takes=[F4], gives=[F4], call=abs)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "takes 1 arguments, not 0"),
        ((X, X), "takes 1 arguments, not 2"),
        ((X[:3],), r"argument 0 is float32\[3\]"),
        ((X.astype(np.float64),), r"argument 0 is float64\[4\]"),
    ],
    ids=["none", "two", "shape", "dtype"],
)
def test_other_arguments_are_refused(arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        scaled()(*arguments)


def test_without_a_reference_the_evaluator_says_so() -> None:
    with pytest.raises(EvaluationError, match="no function"):
        law(scaled()(Tensor(X)))
    with pytest.raises(UsageError, match="there is no custom function 'nobody'"):
        Tensor.of(
            Op.GetTuple(
                Op.Call(Op.CustomFunction(param(0, float32, (4,)), arg="nobody"), Tensor(X).uop), arg=0
            )
        ).numpy()


def test_the_certificate_names_what_is_trusted() -> None:
    f = scaled()
    certificate = compile(lambda x: f(x) + 1, X).certificate
    assert certificate.trusted == (f.name,)
    assert "taken on trust" in str(certificate)
    assert "taken on trust" not in str(compile(lambda x: x + 1, X).certificate)


# Gradients --------------------------------------------------------------------------------------------------------


def test_gradients_pass_where_an_adjoint_is_given() -> None:
    f = in_python(
        lambda x, y: (x * y, x + y),
        (F4, F4),
        (F4, F4),
        reference=lambda x, y: (x * y, x + y),
        adjoint=lambda x, y, product, total, dp, dt: (dp * y + dt, dp * x + dt),
    )

    def loss(apply: Any) -> Any:
        def step(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
            p, s = apply(x * 2, y)
            total = (p * s + apply(p, s)[0]).sum()
            return total.gradient(x, y)

        return step

    found = compile(loss(f), X, X[::-1].copy())(X, X[::-1].copy())
    wanted = compile(loss(lambda x, y: (x * y, x + y)), X, X[::-1].copy())(X, X[::-1].copy())
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    inside = function(lambda x, y: f(x, y)[0] * 2)  # through the body of a Function too
    w = Tensor(X, requires_grad=True)
    inside(w, w).sum().backward()
    assert w.grad is not None
    same(w.grad.numpy(), X * 4)


def test_without_an_adjoint_a_call_is_opaque() -> None:
    x = Tensor(X)
    with pytest.raises(GradientError, match="opaque"):
        scaled()(x).sum().gradient(x)


@pytest.mark.parametrize(
    ("adjoint", "says"),
    [
        (lambda x, y, g: (g, g), "2 parts for 1 arguments"),
        (lambda x, y, g: g.sum(), r"float32\[\] for an argument float32\[4\]"),
        (lambda x, y, g: g.cast(float64), r"float64\[4\] for an argument"),
    ],
    ids=["number", "shape", "dtype"],
)
def test_wrong_adjoints_are_gradient_errors(adjoint: Any, says: str) -> None:
    x = Tensor(X)
    with pytest.raises(GradientError, match=says):
        scaled(adjoint=adjoint)(x).sum().gradient(x)


# Programs in programs ---------------------------------------------------------------------------------------------


def test_a_compiled_program_is_called_inside_another(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Tensor(np.arange(16, dtype=np.float32).reshape(4, 4))
    inner = compile(lambda x: (x @ kept).softmax(0) + x.sum(), X)
    outer = compile(lambda x: inner(inner(x) * 2) - inner(x), X)
    assert len(outer.kernels) < outer.command_count - 2 * len(inner.kernels)
    plain = inner(inner(X) * 2) - inner(X)
    same(outer(X), plain)
    same(law(inner.applied(inner.applied(Tensor(X)) * 2) - inner.applied(Tensor(X))), plain)
    same(compile(lambda x: outer(x) + inner(x), X)(X), plain + inner(X))  # three deep
    assert "softmax" not in outer.name
    assert [name for name, _ in outer.certificate.called] == ["<lambda>"]
    assert "calls <lambda>" in str(outer.certificate)
    assert len(outer.profile(X, repeats=1).rows) > len(outer.kernels)


def test_a_program_inside_is_not_compiled_again() -> None:
    inner = compile(lambda x: x.exp().cumsum(0) * 77.0, X)
    outer = compile(lambda x: inner(x + 1), X)
    assert "77.0f" in inner.source
    assert "77.0f" not in outer.source
    assert len(outer.kernels) == 1


def test_programs_with_several_results_and_custom_functions_inside() -> None:
    f, g = in_python(lambda x: x[::-1]), scaled()
    inner = compile(lambda x, y: (f(x) + g(y), x), X, X)
    outer = compile(lambda x: inner(inner(x, x)[0], g(x)), X)
    first, second = outer(X)
    wanted = X[::-1] + X * 3
    same(second, wanted)
    same(first, wanted[::-1] + X * 3 * 3)


def test_profiles_are_not_weakened() -> None:
    fast = compile(lambda x: x.sum(), X, profile="fast")
    exact = compile(lambda x: x.sum(), X)
    with pytest.raises(UsageError, match="compiled under fast"):
        compile(lambda x: fast(x) + 1, X)
    assert float(compile(lambda x: exact(x) + fast(x), X, profile="fast")(X)) == 2 * float(exact(X))


@pytest.mark.parametrize(
    ("apply", "says"),
    [
        (lambda p, x: p(x, x), "takes 1 arguments, not 2"),
        (lambda p, x: p(x[:3]), r"argument 0 is float32\[3\]"),
        (lambda p, x: p(x.cast(float64)), r"argument 0 is float64\[4\]"),
        (lambda p, x: p.applied(), "takes 1 arguments, not 0"),
    ],
    ids=["number", "shape", "dtype", "none"],
)
def test_wrong_arguments_of_a_program_in_a_trace(apply: Any, says: str) -> None:
    inner = compile(lambda x: x + 1, X)
    with pytest.raises(UsageError, match=says):
        compile(lambda x: apply(inner, x), X)


def test_no_gradient_passes_through_a_program() -> None:
    inner = compile(lambda x: x * x, X)
    x = Tensor(X)
    with pytest.raises(GradientError, match="opaque"):
        inner.applied(x).sum().gradient(x)
