"""Rule files that are wrong in every way that Python can be: a clear message each, and the other rules are read."""

from __future__ import annotations

import ast
import json
import os
import sys
from pathlib import Path

import pytest

import soundline.verify
from soundline.verify.files.finding import named, published, states_rules
from soundline.verify.files.loader import Loaded, load
from soundline.verify.files.problems import KINDS
from soundline.verify.files.syntax import parse

HEAD = "from soundline.verify import *\n\n"
GOOD = "@rule\ndef good(x: Value):\n    return x + 0, x\n\n"
LAST = "@rule\ndef last(x: Value):\n    return x * 1, x\n"


def read(tmp_path: Path, text: str | bytes, name: str = "rules.py") -> Loaded:
    file = tmp_path / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return load(str(file))


def ids(loaded: Loaded) -> list[str]:
    return [r.id for r in loaded.rules]


WRONG = {
    # what stands between two good rules: kind, line within the piece, rule, parts of message and hint
    "@rule\ndef bad(x: Value):\n    return (x + 0, x\n": ("syntax", 3, "bad", "never closed", ""),
    "@rule\ndef bad(x: Value)\n    return x, x\n": ("syntax", 2, "bad", "expected ':'", ""),
    "@rule\ndef bad(x: Value):\nreturn x + 0, x\n": ("syntax", 3, "bad", "indented block", ""),
    "@rule\ndef bad(x: Value):\n    return x +* 0, x\n": ("syntax", 3, "bad", "invalid syntax", ""),
    "@rule\ndef bad(x: Value):\n      x\n    return x + 0, x\n": ("syntax", 4, "bad", "unindent", ""),
    "return 1\n": ("syntax", 1, None, "outside function", ""),
    "@rule\ndef bad(x: Valeu):\n    return x, x\n": (
        "unknown-name",
        2,
        "bad",
        "Valeu",
        "did you mean Value?",
    ),
    "@rule\ndef bad(x: Value):\n    return x, y\n": ("unknown-name", 3, "bad", "y", ""),
    "@rule\ndef bad(x: Value):\n    return numpy.abs(x), x\n": ("unknown-name", 3, "bad", "numpy", ""),
    "nothing + 1\n": ("unknown-name", 1, None, "nothing", ""),
    "@rul\ndef bad(x: Value):\n    return x, x\n": ("unknown-name", 1, "bad", "rul", "did you mean rule?"),
    "def helper():\n    return nothing\nhelper()\n": ("unknown-name", 2, None, "nothing", ""),
    "import not_there\n": ("import", 1, None, "not_there", "installed"),
    "from soundline.verify import Valu\n": ("import", 1, None, "Valu", "did you mean Value?"),
    "from soundline.verfy import *\n": ("import", 1, None, "soundline.verfy", "soundline.verify"),
    "1 / 0\n": ("exception", 1, None, "ZeroDivisionError", ""),
    "def f(): return f()\nf()\n": ("exception", 1, None, "RecursionError", ""),
    "assert False\n": ("exception", 1, None, "AssertionError", ""),
    "raise KeyboardInterrupt\n": ("exception", 1, None, "KeyboardInterrupt", ""),
    "import sys\nsys.exit(4)\n": ("exit", 2, None, "4", "__name__"),
    "raise SystemExit\n": ("exit", 1, None, "ends the program", ""),
    "given(1 == 1)\n": ("not-a-rule", 1, None, "outside of a rule", "@rule"),
    "@rule\ndef bad(x: Value):\n    return x\n": ("not-a-rule", 1, "bad", "two sides", "left, right"),
    "@rule\ndef bad(x):\n    return x, x\n": ("not-a-rule", 1, "bad", "annotation", "kinds"),
    "@rule\ndef bad(x: int):\n    return x, x\n": ("not-a-rule", 1, "bad", "annotation", "kinds"),
    "@rule(dtypes=[])\ndef bad(x: Value):\n    return x, x\n": ("not-a-rule", 1, "bad", "empty", ""),
    "@rule(dtypes=[3])\ndef bad(x: Value):\n    return x, x\n": ("not-a-rule", 1, "bad", "not a dtype", ""),
    "@rule(licences='luck')\ndef bad(x: Value):\n    return x, x\n": ("not-a-rule", 1, "bad", "luck", ""),
    "@rule\ndef bad(x: Value):\n    given(0 < x < 1)\n    return x, x\n": (
        "not-a-rule",
        3,
        "bad",
        "truth",
        "",
    ),
    "@rule\ndef bad(x: Value):\n    return x.nope(), x\n": ("not-a-rule", 3, "bad", "nope", ""),
}


@pytest.mark.parametrize("piece", WRONG, ids=lambda p: p.strip().splitlines()[-1])
def test_a_mistake_is_named_with_its_line_and_costs_no_other_rule(tmp_path: Path, piece: str) -> None:
    kind, line, name, message, hint = WRONG[piece]
    loaded = read(tmp_path, HEAD + GOOD + piece + "\n" + LAST)
    assert ids(loaded) == ["good", "last"]
    assert len(loaded.problems) == 1, [p.message for p in loaded.problems]
    (problem,) = loaded.problems
    assert (problem.kind, problem.rule, problem.file) == (kind, name, loaded.file)
    assert problem.line == (HEAD + GOOD).count("\n") + line
    assert message in problem.message
    assert hint in (problem.hint or "")
    assert "\n" not in problem.message
    assert "Traceback" not in problem.message


def test_every_kind_of_mistake_is_explained() -> None:
    assert {kind for kind, *_ in WRONG.values()} <= set(KINDS)
    assert all(text.endswith((".", "*")) for text in KINDS.values())


def test_several_mistakes_are_all_found_in_the_order_of_lines(tmp_path: Path) -> None:
    pieces = [p for p in WRONG if "verfy" not in p and "indent" not in WRONG[p][3]]
    loaded = read(
        tmp_path, HEAD + "\n".join([p + GOOD.replace("good", f"g{n}") for n, p in enumerate(pieces)])
    )
    assert ids(loaded) == [f"g{n}" for n in range(len(pieces))]
    assert [p.line for p in loaded.problems] == sorted(p.line or 0 for p in loaded.problems)
    assert len(loaded.problems) == len(pieces)


def test_what_fails_because_of_another_failure_says_so(tmp_path: Path) -> None:
    loaded = read(tmp_path, HEAD + "limit = 1 / 0\nother = limit + 1\n" + GOOD)
    assert ids(loaded) == ["good"]
    assert [p.kind for p in loaded.problems] == ["exception", "unknown-name"]
    assert "line 3" in (loaded.problems[1].hint or "")


def test_names_lost_to_a_syntax_error_say_so(tmp_path: Path) -> None:
    loaded = read(tmp_path, HEAD + "def half(x):\n    return (x\n\ntwo = half(4)\n" + GOOD)
    assert ids(loaded) == ["good"]
    assert "failed" in (loaded.problems[1].hint or "")


def test_a_failed_star_import_explains_the_unknown_names(tmp_path: Path) -> None:
    loaded = read(tmp_path, "from mine_alone import *\nsomething\n")
    assert "line 1 failed" in (loaded.problems[1].hint or "")


def test_a_word_of_the_vocabulary_that_was_not_imported_says_what_to_add(tmp_path: Path) -> None:
    loaded = read(
        tmp_path, "from soundline.verify import rule\n@rule\ndef r(x: Value):\n    return x + 0, x\n"
    )
    assert loaded.problems[0].hint == "add: from soundline.verify import Value"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x00\x01\x02ELF", "unreadable-file"),
        (b"x = '\xff\xfe'\n", "unreadable-file"),
        (b"# -*- coding: nonsense -*-\n", "unreadable-file"),
        (b"x = " + b"(" * 10000 + b"\n", "syntax"),
        (b"x = " + b"-" * 100000 + b"1\n", "syntax"),
    ],
)
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, data: bytes, kind: str) -> None:
    loaded = read(tmp_path, data)
    assert [p.kind for p in loaded.problems][:1] == [kind]
    assert not loaded.rules


def test_a_missing_and_an_unreadable_file(tmp_path: Path) -> None:
    assert load(str(tmp_path / "none.py")).problems[0].kind == "missing-file"
    assert load(str(tmp_path)).problems[0].kind == "unreadable-file"


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", '"""Only a docstring."""\n', HEAD])
def test_an_empty_file_has_neither_rules_nor_mistakes(tmp_path: Path, text: str) -> None:
    loaded = read(tmp_path, text)
    assert (loaded.rules, loaded.problems) == ([], [])


def test_other_encodings_and_line_ends(tmp_path: Path) -> None:
    latin = b"# -*- coding: latin-1 -*-\r\n" + (HEAD + "# \u00e9\n" + GOOD).replace("\n", "\r\n").encode(
        "latin-1"
    )
    loaded = read(tmp_path, latin)
    assert ids(loaded) == ["good"]
    assert loaded.rules[0].line == 5
    assert ids(read(tmp_path, b"\xef\xbb\xbf" + (HEAD + GOOD).encode())) == ["good"]


def test_text_at_the_margin_inside_a_string_survives_recovery(tmp_path: Path) -> None:
    text = (
        HEAD
        + 'note = """\ndef not_code(:\n"""\n'
        + GOOD
        + "@rule\ndef bad(x: Value):\n    return (x\n\n"
        + LAST
    )
    loaded = read(tmp_path, text)
    assert ids(loaded) == ["good", "last"]
    assert [p.kind for p in loaded.problems] == ["syntax"]


def test_recovery_ends_on_a_file_of_nonsense() -> None:
    source = parse(b")]}\n" * 500, "nonsense.py")
    assert source.problems
    assert len(source.problems) <= 20


# surroundings -----------------------------------------------------------------------------------------------------


def test_the_file_sees_its_name_its_folder_and_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data.json").write_text(json.dumps([3]))
    (tmp_path / "helper_of_mine.py").write_text("BASE = 4\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    text = HEAD + (
        "import json, pathlib, sys\n"
        "from helper_of_mine import BASE\n"
        "(C,) = json.loads((pathlib.Path(__file__).parent / 'data.json').read_text())\n"
        "assert __name__ == 'rules' and sys.modules[__name__].__file__ == __file__\n"
        "@rule(dtypes=ints, id=f'plus_{C}_{BASE}')\ndef r(x: Value):\n    return x + C - C, x\n"
    )
    before = list(sys.path), Path.cwd(), set(sys.modules)
    loaded = read(tmp_path, text)
    assert (ids(loaded), loaded.problems) == (["plus_3_4"], [])
    assert (list(sys.path), Path.cwd()) == before[:2]
    assert "helper_of_mine" not in sys.modules
    assert "rules" not in sys.modules


def test_two_folders_may_have_helpers_of_one_name(tmp_path: Path) -> None:
    for n in (1, 2):
        (tmp_path / f"d{n}").mkdir()
        (tmp_path / f"d{n}" / "helper.py").write_text(f"N = {n}\n")
        text = HEAD + "from helper import N\n@rule(id=f'r{N}')\ndef r(x: Value):\n    return x + N - N, x\n"
        (tmp_path / f"d{n}" / "rules.py").write_text(text)
    assert [ids(load(str(tmp_path / f"d{n}" / "rules.py"))) for n in (1, 2)] == [["r1"], ["r2"]]


def test_a_file_in_a_package_may_import_relatively(tmp_path: Path) -> None:
    package = tmp_path / "pack" / "inner"
    package.mkdir(parents=True)
    (tmp_path / "pack" / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (tmp_path / "pack" / "numbers_of_mine.py").write_text("TWO = 2\n")
    text = HEAD + "from ..numbers_of_mine import TWO\n@rule\ndef r(x: Value):\n    return x * TWO, x + x\n"
    (package / "rules.py").write_text(text)
    loaded = load(str(package / "rules.py"))
    assert (ids(loaded), loaded.problems) == (["r"], [])


def test_rules_that_are_only_imported_belong_to_their_own_file(tmp_path: Path) -> None:
    (tmp_path / "theirs.py").write_text(HEAD + GOOD)
    loaded = read(tmp_path, HEAD + "from theirs import *\n")
    assert (ids(loaded), loaded.imported) == ([], 1)


def test_rules_made_by_a_function_of_another_file_are_stated_here(tmp_path: Path) -> None:
    made = "def make(n):\n    @rule(dtypes=ints, id=f'add_{n}')\n    def r(x: Value):\n        return x + n - n, x\n"
    (tmp_path / "maker.py").write_text(HEAD + made)
    loaded = read(tmp_path, HEAD + "from maker import make\nfor n in range(3):\n    make(n)\n")
    assert ids(loaded) == ["add_0", "add_1", "add_2"]


def test_future_statements_and_dataclasses_work(tmp_path: Path) -> None:
    text = (
        '"""A docstring."""\nfrom __future__ import annotations\n'
        + HEAD
        + "from dataclasses import dataclass\n@dataclass\nclass Box:\n    n: Undefined\n"
        + GOOD
    )
    loaded = read(tmp_path, text)
    assert (ids(loaded), loaded.problems) == (["good"], [])


def test_what_a_file_prints_is_kept_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = read(tmp_path, "print('said')\n" * 2 + "import sys\nprint('cried', file=sys.stderr)\n")
    assert loaded.printed == "said\nsaid\ncried\n"
    assert capsys.readouterr() == ("", "")


def test_statements_known_to_block_are_left_out(tmp_path: Path) -> None:
    reached: list[int] = []
    file = tmp_path / "rules.py"
    file.write_text(HEAD + "BLOCK = boom()\n" + GOOD + "y = BLOCK\n")
    loaded = load(str(file), skip=[3], reached=reached.append)
    assert ids(loaded) == ["good"]
    assert reached == [1, 4, 8]
    assert [(p.kind, p.line, p.hint) for p in loaded.problems] == [
        ("unknown-name", 8, "its definition on line 3 failed")
    ]


# which files ------------------------------------------------------------------------------------------------------


def test_in_a_folder_only_rule_files_are_read(tmp_path: Path) -> None:
    for name in ("a_rules.py", "deep/b.py", ".hidden/c.py", "env/d.py", "__pycache__/e.py", "f.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(HEAD + GOOD)
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    (tmp_path / "setup.py").write_text("raise SystemExit('never run me')\n")
    (tmp_path / "uses.py").write_text("import soundline\nrule = 1\n")
    (tmp_path / "broken.py").write_text(HEAD + GOOD + "@rule\ndef f(:\n")
    found = named([str(tmp_path)])
    assert [Path(f.path).name for f in found.files] == ["a_rules.py", "broken.py", "b.py"]
    assert not found.problems
    assert not any(f.expected for f in found.files)


def test_each_file_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "rules.py"
    file.write_text(HEAD + GOOD)
    (tmp_path / "link.py").symlink_to(file)
    found = named([str(file), str(tmp_path), str(tmp_path / "link.py"), os.path.relpath(file)])
    assert [f.path for f in found.files] == [str(file.resolve())]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("none.py", "missing-file"),
        ("notes.txt", "not-python"),
        ("empty", "no-rules"),
        ("a\0b.py", "missing-file"),
    ],
)
def test_paths_that_are_no_rule_files(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "empty").mkdir()
    found = named([str(tmp_path / name)])
    assert [p.kind for p in found.problems] == [kind]
    assert not found.files


@pytest.mark.parametrize(
    ("text", "states"),
    [
        (HEAD + GOOD, True),
        (
            "import soundline.verify as v\n@v.rule(dtypes=v.ints)\ndef f(x: v.Value):\n    return x + 0, x\n",
            True,
        ),
        ("# soundline rule\n@rule\ndef f(x): ...\n", False),
        (HEAD + "# no rule here\n", False),
        ("from other import rule  # soundline\n@rule\ndef f(x): ...\n", False),
    ],
)
def test_rule_files_are_told_by_their_text(tmp_path: Path, text: str, states: bool) -> None:
    file = tmp_path / "f.py"
    file.write_text(text)
    assert states_rules(file) is states


def test_the_shipped_library_is_published() -> None:
    found = published()
    assert not found.problems
    modules = [f.module or "" for f in found.files]
    assert modules
    assert all(m.startswith("soundline.impl.rules") for m in modules)


def test_the_words_of_rule_files_are_those_of_the_law() -> None:
    """The vocabulary is looked up late; each word must be the one that type checkers see."""
    tree = ast.parse(Path(soundline.verify.vocabulary.__file__).read_text())
    told = {a.name: n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names}
    for word in soundline.verify.__all__:
        home = __import__(told[word] or "", fromlist=[word])
        assert getattr(soundline.verify, word) is getattr(home, word), word


def test_installed_packages_may_publish_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "theirs_alone").mkdir()
    (tmp_path / "theirs_alone" / "__init__.py").write_text("")
    (tmp_path / "theirs_alone" / "sums.py").write_text(HEAD + GOOD)
    (tmp_path / "theirs_alone" / "tools.py").write_text("raise RuntimeError('never import me')\n")
    (tmp_path / "single_of_theirs.py").write_text(HEAD + LAST)
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    points = "[soundline.rules]\na = theirs_alone\nb = single_of_theirs\nc = not_there.at_all\n"
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = published()
    new = [(f.path, f.module) for f in found.files if not (f.module or "").startswith("soundline.")]
    assert new == [
        (str(tmp_path / "theirs_alone" / "sums.py"), "theirs_alone.sums"),
        (str(tmp_path / "single_of_theirs.py"), "single_of_theirs"),
    ]
    assert [p.kind for p in found.problems] == ["import"]
    assert "not_there" in found.problems[0].file
    assert found.files[0].module is not None
    assert found.files[0].module.startswith("soundline.impl.rules")


PROCEDURE = """
from soundline.spec.ops.node import Op
from soundline.verify import procedure

@procedure(Op.Add)
def add_nothing(node, known):
    \"\"\"Nothing is added.\"\"\"
    return None
"""


def test_procedures_are_read_beside_the_rules(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(PROCEDURE)
    found = load(str(file))
    assert ([p.id for p in found.procedures], found.rules, found.problems) == (["add_nothing"], [], [])
    other = tmp_path / "other.py"
    other.write_text("from mine import add_nothing\n")
    assert load(str(other)).procedures == []  # those that are imported belong to their own file


def test_a_file_of_procedures_alone_is_a_rule_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PROCEDURE)
    assert [Path(f.path).name for f in named([str(tmp_path)]).files] == ["mine.py"]


def test_a_procedure_that_is_none_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(PROCEDURE.replace("(Op.Add)", "()"))
    (problem,) = load(str(file)).problems
    assert (problem.line, "names the ops" in problem.message) == (5, True)
