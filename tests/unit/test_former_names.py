"""Modules are found under the names that they had in version 0.1, and say so."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from soundline import former_names
from soundline.spec.rules.language import Rule

ROOT = Path(__file__).resolve().parents[2]
TABLE = former_names.table()
PACKAGES = sorted(old for old in TABLE if (ROOT / old.removeprefix("soundline.").replace(".", "/")).is_dir())
MODULES = sorted(set(TABLE) - set(PACKAGES))


def test_the_table_has_modules_and_packages() -> None:
    assert len(MODULES) > 400
    assert len(PACKAGES) > 10


def test_every_former_module_is_the_present_one() -> None:
    program = """
import importlib, warnings
from soundline import former_names
warnings.simplefilter("ignore")
for old, new in former_names.table().items():
    spec = importlib.util.find_spec(old)
    if spec.submodule_search_locations is None:
        found = importlib.import_module(old)
        assert found is importlib.import_module(new), old
        assert found.__name__ == new and found.__spec__.name == new, old
"""
    subprocess.run([sys.executable, "-c", f"import importlib.util\n{program}"], check=True)


@pytest.mark.parametrize(
    "old", ["soundline.spec.movement", "soundline.impl.tensor", "soundline.verify.loader"]
)
def test_a_former_name_says_the_present_one(old: str) -> None:
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"{old} is {TABLE[old]} since version 0.2") as seen:
        importlib.import_module(old)
    assert len(seen) == 1


def test_a_package_has_the_attributes_of_the_former_module() -> None:
    import soundline.spec.rules as package

    with pytest.warns(
        DeprecationWarning, match="soundline.spec.rules.Rule is soundline.spec.rules.language.Rule"
    ):
        assert package.Rule is Rule
    with pytest.warns(DeprecationWarning, match="Rule") as seen:
        from soundline.spec.rules import Rule as Found
    assert Found is Rule
    assert {w.filename for w in seen} == {__file__}
    with pytest.raises(ImportError, match="nothing_of_this_name"):
        exec("from soundline.spec.rules import nothing_of_this_name")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("soundline.spec.nothing_of_this_name")


def test_present_names_say_nothing() -> None:
    program = "import soundline as sl, soundline.verify.cli.main; sl.compile; sl.spork; from soundline.verify import *"
    subprocess.run([sys.executable, "-W", "error::DeprecationWarning:soundline", "-c", program], check=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from soundline.spec.ops import table
    assert table.TABLE


def test_what_was_pickled_under_a_former_name_is_loaded() -> None:
    there = b"csoundline.spec.rules\nRule\n."  # the first protocol: a global by module and name
    with pytest.warns(DeprecationWarning, match="Rule"):
        assert pickle.loads(there) is Rule
