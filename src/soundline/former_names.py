"""
Former names
============

Modules that had another name in version 0.1 are found under it until version 0.3, with a `DeprecationWarning` that
names the new one. ``former_names.txt`` has a line for each: the former name and the present one, below ``soundline``.

Where a former module has the name of what is a package now, the package still has the attributes of the module.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.resources import files
from types import ModuleType
from typing import Any, Final

PACKAGE: Final = __package__ or "soundline"


def table() -> dict[str, str]:
    """The present name of every module that had another."""
    lines = files(PACKAGE).joinpath("former_names.txt").read_text(encoding="utf-8").splitlines()
    return {f"{PACKAGE}.{old}": f"{PACKAGE}.{new}" for old, new in map(str.split, lines)}


def _warn(old: str, new: str) -> None:
    warnings.warn(
        f"{old} is {new} since version 0.2; the former name goes with version 0.3",
        DeprecationWarning,
        stacklevel=3,
    )


class _Renamed(Loader):
    """Gives the present module for a former name."""

    def __init__(self, new: str) -> None:
        self.new = new

    def create_module(self, _spec: ModuleSpec) -> ModuleType:
        """The present module; the machinery sets what describes it again, so that is put back after."""
        found = import_module(self.new)
        self.kept = {
            name: found.__dict__.get(name) for name in ("__spec__", "__loader__", "__package__", "__name__")
        }
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Nothing runs a second time."""
        module.__dict__.update(self.kept)


class _Package(ModuleType):
    """A package under whose name there was a module."""

    def __getattr__(self, name: str) -> Any:
        new: str = self.__dict__["_former"]
        # a module of the package is about to be imported: nothing else may be imported before it
        if (
            not name.startswith("__")
            and PathFinder.find_spec(f"{self.__name__}.{name}", self.__path__) is None
        ):
            found = getattr(import_module(new), name, self)
            if found is not self:
                _warn(f"{self.__name__}.{name}", f"{new}.{name}")
                return found
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


class _ToPackage(Loader):
    """Loads a package, which then has the attributes of the former module too."""

    def __init__(self, loader: Loader, new: str) -> None:
        self.loader, self.new = loader, new

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)  # what else loaders can do, such as getting the source

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the loader does."""
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """As the loader does; then the module is a `_Package`."""
        self.loader.exec_module(module)
        module.__dict__["_former"] = self.new
        module.__class__ = _Package


class FormerNames(MetaPathFinder):
    """Finds modules under their former names."""

    def __init__(self, renamed: Mapping[str, str]) -> None:
        self.renamed = renamed

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The present module of a former name, or a package that has one; None of all others."""
        new = self.renamed.get(name)
        if new is None:
            return None
        found = PathFinder.find_spec(name, path, target)
        if found is None:
            _warn(name, new)
            return ModuleSpec(name, _Renamed(new))
        if found.loader is not None and found.submodule_search_locations is not None:
            found.loader = _ToPackage(found.loader, new)
        return found


def install() -> None:
    """Let former names be found."""
    sys.meta_path.insert(0, FormerNames(table()))
