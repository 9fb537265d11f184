"""The one place that imports DGL: ``from graphsent._dgl import dgl``, when it is needed first.

The last wheels of DGL (2.1.0 on Linux) carry native GraphBolt libraries for
torch 2.0.0 to 2.2.1 only, and GraphBolt, DGL's data loader for very large graphs, wants the
``torchdata.datapipes`` that torchdata has dropped since. ``import dgl`` therefore fails beside a
current torch, although nothing that graphsent needs depends on GraphBolt.

Once this module has been imported, ``dgl.graphbolt`` is first tried as it is wherever DGL is
imported; only if that fails is it replaced by an empty module whose attributes say why they are
missing. A DGL that imports by itself is left alone, and nothing else in ``sys.modules`` is touched.
Importing DGL takes over a second, so it waits until something of it is asked for. A plain ``import
dgl`` gives the same module, ``graphsent.dgl`` the module itself.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

__all__ = ["dgl", "import_dgl"]

_GRAPHBOLT = "dgl.graphbolt"
_REQUIREMENTS = "graphsent needs DGL 2.1 or 2.2 with torch 2.1 or newer"


class _OptionalLoader(Loader):
    """Runs a package's own loader; empties the package where that fails."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        try:
            self._loader.exec_module(module)
        except Exception as error:
            _discard_submodules(module.__name__)
            _make_unavailable(module, error)


class _OptionalGraphBolt(MetaPathFinder):
    """Lets the import of DGL go on where its GraphBolt cannot be loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _GRAPHBOLT:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _OptionalLoader(spec.loader)
        return spec


def _discard_submodules(package: str) -> None:
    for name in [name for name in sys.modules if name.startswith(package + ".")]:
        del sys.modules[name]


def _bind_submodules(package: str) -> None:
    """Makes submodules attributes of their packages again, after an import that was repeated.

    An `import dgl` that failed leaves submodules in ``sys.modules``. They are used again, for the
    native library behind them must not be initialised twice, but a package imported anew does not
    know those of them that it asks only for names.
    """
    for name in [name for name in sys.modules if name.startswith(package + ".")]:
        parent, _, child = name.rpartition(".")
        if parent in sys.modules and not hasattr(sys.modules[parent], child):
            setattr(sys.modules[parent], child, sys.modules[name])


def _make_unavailable(module: ModuleType, error: Exception) -> None:
    reason = f"{module.__name__} is not available here: {type(error).__name__}: {error}"

    def missing_attribute(name: str) -> Any:
        raise AttributeError(f"{reason} (wanted {name!r})")

    for name in [name for name in vars(module) if not name.startswith("__")]:
        delattr(module, name)
    module.__doc__ = reason
    module.__path__ = []
    vars(module)["__getattr__"] = missing_attribute


@contextmanager
def _known_warnings_ignored() -> Iterator[None]:
    """Silences what importing DGL is known to raise, and nothing else."""
    with warnings.catch_warnings():
        # Docstrings in DGL's sources, seen when Python compiles them for the first time.
        for category in (DeprecationWarning, SyntaxWarning):
            warnings.filterwarnings("ignore", r".*invalid escape sequence", category)
        # torchdata 0.8 and 0.9, whose datapipes GraphBolt uses.
        warnings.filterwarnings("ignore", r"(?s).*'datapipes', 'dataloader2' modules", UserWarning)
        yield


def import_dgl() -> ModuleType:
    """DGL itself, imported if need be.

    Raises:
        ImportError: It is not installed, or cannot be imported; the message says why.
    """
    if "dgl" in sys.modules and _finder not in sys.meta_path:  # it is complete
        return sys.modules["dgl"]
    with _lock:
        if "dgl" not in sys.modules and importlib.util.find_spec("dgl") is None:
            raise ImportError("DGL is not installed: run graphsent install-dgl", name="dgl")
        try:
            with _known_warnings_ignored():
                module = importlib.import_module("dgl")
            _bind_submodules("dgl")
            if _finder in sys.meta_path:  # another thread may have been faster
                sys.meta_path.remove(_finder)
            return module
        except Exception as error:
            raise ImportError(
                f"DGL is installed but fails to import: {type(error).__name__}: {error}. "
                f"{_REQUIREMENTS}.",
                name="dgl",
            ) from error


class _LazyDGL:
    """DGL, imported when something of it is asked for: models of words ask for nothing."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_dgl(), name)
        if isinstance(value, type):  # found at once from now on
            setattr(self, name, value)
        return value


_lock = threading.RLock()
_finder = _OptionalGraphBolt()
if "dgl" not in sys.modules:
    # Without a choice DGL prints a notice and writes a configuration file to the home directory.
    os.environ.setdefault("DGLBACKEND", "pytorch")
    sys.meta_path.insert(0, _finder)

if TYPE_CHECKING:

    class _Untyped(type):
        def __getattr__(cls, name: str) -> Any: ...

    class dgl(metaclass=_Untyped):
        """DGL has no types, and those that checkers infer are wrong: of a graph's data, say."""

        DGLGraph: TypeAlias = Any

else:
    dgl = _LazyDGL()
