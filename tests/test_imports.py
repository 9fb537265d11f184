"""``import graphsent`` is cheap, and every public name resolves as declared."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

import graphsent

ROOT = Path(graphsent.__file__).parent
HEAVY = {
    "conllu",
    "dgl",
    "jsonargparse",
    "lightning",
    "matplotlib",
    "networkx",
    "nltk",
    "numpy",
    "pandas",
    "pytorch_lightning",
    "safetensors",
    "torch",
    "torchmetrics",
    "tqdm",
}


MODULES = {
    ".".join(path.with_suffix("").relative_to(ROOT.parent).parts).removesuffix(".__init__"): path
    for path in ROOT.rglob("*.py")
}


def run(script: str) -> str:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True
    ).stdout


def test_importing_the_package_imports_nothing_heavy():
    printed = run("import sys, graphsent, graphsent.vocabulary; print(*sys.modules)")
    assert not HEAVY & set(printed.split())


def test_subpackages_import_neither_training_nor_matplotlib():
    rooms = ("drawing", "trees", "graphs", "cells", "layers", "models", "tasks")
    imports = ", ".join(f"graphsent.{room}" for room in rooms)
    printed = run(f"import sys, {imports}; print(*sys.modules)")
    assert not {"lightning", "pytorch_lightning", "matplotlib"} & set(printed.split())


def test_mistakes_are_reported_before_anything_that_trains_is_imported():
    """Lightning takes three seconds to import, torchmetrics one."""
    printed = run("""
import contextlib, sys, graphsent.cli
commands = (
    "config list treelstm", "train --task sst5 --data-dir no --out run", "train --resume no",
    "evaluate no", "reproduce no",
)
with contextlib.redirect_stderr(sys.stdout):
    statuses = [graphsent.cli.main(command.split()) for command in commands]
assert statuses == [0, 2, 2, 2, 2], statuses
print(*sys.modules)
""")
    assert not {"pytorch_lightning", "torchmetrics"} & set(printed.split())


def test_importing_the_package_takes_less_than_a_third_of_a_second():
    script = """
import time
start = time.perf_counter()
import graphsent
print(time.perf_counter() - start)
"""
    assert min(float(run(script)) for _ in range(3)) < 0.3


LAZY = ("graphsent", "graphsent.reproduction", "graphsent.training")


@pytest.mark.parametrize("package", LAZY)
def test_every_public_name_resolves_to_what_the_stub_says(package):
    module = importlib.import_module(package)
    stub = Path(module.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    said: dict[str, Any] = {}
    exec(stub, said)
    for name in set(module.__all__) - {"__version__"}:
        assert getattr(module, name) is said[name] is not None


@pytest.mark.parametrize("package", LAZY)
def test_public_names_are_sorted_and_listed(package):
    module = importlib.import_module(package)
    assert module.__all__ == sorted(set(module.__all__))
    assert set(module.__all__) <= set(dir(module))


PACKAGES = sorted(name for name, path in MODULES.items() if path.name == "__init__.py")


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_exist_and_occur_once(package):
    module = importlib.import_module(package)
    names = getattr(module, "__all__", [])
    assert len(set(names)) == len(names)
    assert all(hasattr(module, name) for name in names)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'graphsent' has no attribute 'tree_lstm'"):
        _ = graphsent.tree_lstm


def test_both_ways_of_importing_give_the_same_object():
    from graphsent import Vocabulary
    from graphsent.vocabulary import Vocabulary as defined

    assert Vocabulary is defined


def imported(module: str) -> Iterator[str]:
    """The modules of the package that a module imports anywhere, for types too."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{module}, line {node.lineno}: expected an absolute import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "graphsent":
                yield name if name in MODULES else name.rpartition(".")[0]


def packages_around(module: str) -> Iterator[str]:
    while "." in module:
        module = module.rpartition(".")[0]
        yield module


def test_no_module_imports_itself_through_others():
    """Counting imports inside functions, those for types alone, and ``__init__`` of packages."""
    needed = {}
    for module in MODULES:
        found = set(imported(module))
        around = {package for name in found for package in packages_around(name)}
        own = {module, *packages_around(module)}  # these are running already
        needed[module] = (found | around - own) - {module}
    assert len(needed) > 300
    TopologicalSorter(needed).prepare()  # raises a CycleError


def test_packages_import_only_those_of_lower_layers():
    """The layers are those of CONTRIBUTING.md."""
    text = Path(__file__).parents[1].joinpath("CONTRIBUTING.md").read_text(encoding="utf-8")
    (line,) = (each.strip() for each in text.split("\n") if each.startswith("    vocabulary - "))
    layers = {
        f"graphsent.{name}": number
        for number, layer in enumerate(line.split(" - "))
        for name in layer.split(", ")
    }
    packages = {
        name for name in MODULES if name.count(".") == 1 and MODULES[name].name == "__init__.py"
    }
    assert packages <= set(layers)
    for module in MODULES:
        own = package_of(module)
        for name in imported(module):
            if own in layers and package_of(name) not in (own, "graphsent"):
                assert layers.get(package_of(name), -1) < layers[own], f"{module} imports {name}"


def package_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


OF_CELLS = {"base", "module", "slots", "validation", "__init__"}
"""Modules of ``cells`` that know the engine; the others hold equations."""


def test_equations_of_cells_know_nothing_of_the_engine():
    rooms = {f"graphsent.cells.{name}" for name in OF_CELLS} | {"graphsent.cells"}
    equations = [name for name in MODULES if name.startswith("graphsent.cells.")]
    for module in set(equations) - rooms:
        engine = {name for name in imported(module) if name.startswith("graphsent.propagation")}
        assert engine <= {"graphsent.propagation.feats"}, module
