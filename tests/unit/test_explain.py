"""`soundline explain`: every id of the law has a text, and an id that nothing has is met with the closest one."""

from __future__ import annotations

from pathlib import Path

import pytest

from soundline.impl.spork.names import NAMES
from soundline.spec.decisions.table import DECISIONS
from soundline.spec.errors import UsageError
from soundline.spec.ops.table import PROPERTIES, TABLE
from soundline.verify.cli.explain import VERDICTS, explanation
from soundline.verify.cli.main import main
from soundline.verify.cli.spork import names as spork_names
from soundline.verify.files.problems import KINDS


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUNDLINE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.parametrize("entry", TABLE.values(), ids=lambda e: e.title)
def test_every_op_and_every_law_of_it(entry) -> None:  # type: ignore[no-untyped-def]
    text = explanation(entry.op.name)
    for constraint in entry.constraints:
        assert constraint.id in text
        assert "".join(constraint.text.split()) in "".join(explanation(constraint.id).split())
    for name in (*PROPERTIES, "sem", "src", "arg"):
        assert entry.title in explanation(entry.law_id(name))
    assert entry.laws["dtype"] in explanation(entry.law_id("dtype"))
    assert max(map(len, text.splitlines())) <= 160


@pytest.mark.parametrize("name", DECISIONS)
def test_every_decision(name: str) -> None:
    assert DECISIONS[name].title in explanation(name.lower())


@pytest.mark.parametrize("name", [*KINDS, *VERDICTS, "IllFormed", "ruleerror", "SoundlineError"])
def test_every_error_and_verdict(name: str) -> None:
    assert explanation(name).count("\n") >= 2


def test_a_shipped_rule_and_its_layers() -> None:
    text = explanation("add_commutative")
    assert "(x + y) → (y + x)" in text
    assert "commutativity.py:" in text
    assert "not judged yet" in text
    assert "soundline verify --filter add_commutative" in text


def test_rules_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "r.py"
    head = "from soundline.verify import *\n"
    file.write_text(
        head + '@rule(dtypes=[index])\ndef mine(x: Value):\n    """My words."""\n    return x + 0, x\n'
    )
    assert "My words." in explanation(f"{file}::mine")
    assert "mine    a rewrite rule" in explanation(str(file))
    with pytest.raises(UsageError, match="did you mean mine"):
        explanation(f"{file}::mina")
    with pytest.raises(UsageError, match="no such file"):
        explanation(f"{tmp_path / 'none.py'}::mine")


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("Reshpae", "Reshape"), ("uop-reshape-c99", "uop-reshape-c"), ("U-777", "U-"), ("vacous", "vacuous")],
)
def test_an_unknown_id_is_met_with_the_closest(
    wrong: str, meant: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", wrong]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert f"there is nothing named {wrong} (did you mean {meant}" in err


def test_a_shipped_procedure_and_one_of_a_file(tmp_path: Path) -> None:
    text = explanation("collect_terms")
    assert "collect_terms    a procedure; " in text
    assert "procedural.py:" in text
    assert "looks at: Add, Mul, Neg, Sub" in text
    file = tmp_path / "p.py"
    file.write_text(
        "from soundline.spec.ops.node import Op\nfrom soundline.verify import procedure\n"
        "@procedure(Op.Add)\ndef idle(node, known):\n    return None\n"
    )
    assert "idle    a procedure" in explanation(f"{file}::idle")
    with pytest.raises(UsageError, match="did you mean idle"):
        explanation(f"{file}::idles")


# names of Spork ---------------------------------------------------------------------------------------------------


def test_every_name_of_spork_is_explained() -> None:
    """Everything that a program may name without an import, and every construct, says what it is and shows its use."""
    assert set(NAMES) < set(spork_names())
    for name in spork_names():
        text = explanation(f"spork-{name}")
        assert text.startswith(name.split(",")[0]) or name in text.split("\n")[0], name
        assert len(text.split("\n")) > 6, name


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Fence", "barrier.cta.sync for a CTA"),
        ("await", "Await(BARRIER"),
        ("ReverseArrive", "mbarrier.arrive"),
        ("cuda_threads", "in cuda_threads("),
        ("CudaAsync", "CudaAsync(Sm80_cp_async)"),
        ("CudaSmemLinear", "one shard for each CTA"),
        ("cudasmemlinear", "one shard for each CTA"),
        ("Sm90_tensorMap", "boxes of this size"),
        ("CudaEvent", "S-22"),
        ("CudaMbarrier", "bar-mbarrier-n"),
        ("cuda_in_order", "it is transitive"),
        ("wgmma_fence_1", "S-11"),
        ("Sm80_cp_async", "CudaAsync(Sm80_cp_async) opens a block"),
        ("Sm80_cp_async_f32", "cp.async"),
        ("cuda_quadpair", "four lanes"),
        ("CudaWarpConfig", "coll-maxnreg-c1"),
    ],
)
def test_what_is_said_of_a_name_of_spork(name: str, says: str) -> None:
    assert says in explanation(name)


def test_an_op_tells_of_the_construct_with_its_name() -> None:
    assert explanation("Reduce").startswith("Reduce(T")
    assert "soundline explain spork-reduce" in explanation("Reduce")
    assert "the guide" in explanation("spork-reduce")


@pytest.mark.parametrize(
    ("name", "near"), [("Fense", "Fence"), ("cuda_wrap", "cuda_warp"), ("CudaSmemLineal", "CudaSmemLinear")]
)
def test_a_misspelt_name_of_spork_has_a_neighbour(name: str, near: str) -> None:
    with pytest.raises(UsageError) as refused:
        explanation(name)
    assert refused.value.hint == f"did you mean {near}?"
