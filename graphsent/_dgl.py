"""The only place that imports DGL, lazily: ``from graphsent._dgl import dgl``.

The last wheels of DGL (2.1.0 on Linux) ship native GraphBolt libraries for torch 2.0.0 to 2.2.1
only, and GraphBolt, DGL's data loader for very large graphs, needs ``torchdata.datapipes``, which
torchdata has since dropped. ``import dgl`` therefore fails with a current torch, although nothing
that graphsent needs depends on GraphBolt.

Once this module has been imported, any import of DGL first tries the original ``dgl.graphbolt``;
only if that fails is it replaced by an empty module whose attributes say why they are missing. A
DGL that imports by itself is left alone, and nothing else in ``sys.modules`` is touched. Importing
DGL takes over a second, so it is deferred until first use. A plain ``import dgl`` and
``graphsent.dgl`` give the DGL module itself.
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
_REQUIREMENTS = "graphsent needs DGL 2.1 or 2.2 with torch 2.4 or newer"


class _OptionalLoader(Loader):
    """Runs a package's own loader; empties the package if that fails."""

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
    """Lets the import of DGL continue if its GraphBolt cannot be loaded."""

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
    """Sets submodules as attributes of their packages again, after a repeated import.

    A failed `import dgl` leaves submodules in ``sys.modules``. They are reused, since the native
    library behind them must not be initialized twice, but a re-imported package lacks those of them
    from which it imports only names.
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
    """Silences the known warnings of importing DGL, and no others."""
    with warnings.catch_warnings():
        # From docstrings in DGL's sources, when Python first compiles them.
        for category in (DeprecationWarning, SyntaxWarning):
            warnings.filterwarnings("ignore", r".*invalid escape sequence", category)
        # From torchdata 0.8 and 0.9, whose datapipes GraphBolt uses.
        warnings.filterwarnings("ignore", r"(?s).*'datapipes', 'dataloader2' modules", UserWarning)
        # From tqdm in notebooks without ipywidgets; only DGL's downloads show progress.
        warnings.filterwarnings("ignore", "IProgress not found")
        yield


def import_dgl() -> ModuleType:
    """DGL itself, imported if necessary.

    Raises:
        ImportError: DGL is not installed or cannot be imported; the message says why.
    """
    if "dgl" in sys.modules and _finder not in sys.meta_path:  # fully imported
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
    """DGL, imported on first use: models that read words do without it."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_dgl(), name)
        if isinstance(value, type):  # cached for later accesses
            setattr(self, name, value)
        return value


_lock = threading.RLock()
_finder = _OptionalGraphBolt()
if "dgl" not in sys.modules:
    # If unset, DGL prints a notice and writes a configuration file to the home directory.
    os.environ.setdefault("DGLBACKEND", "pytorch")
    sys.meta_path.insert(0, _finder)

if TYPE_CHECKING:

    class _Untyped(type):
        def __getattr__(cls, name: str) -> Any: ...

    class dgl(metaclass=_Untyped):
        """DGL has no type annotations, and inferred types, such as of graph data, are wrong."""

        DGLGraph: TypeAlias = Any

else:
    dgl = _LazyDGL()
