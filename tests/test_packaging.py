"""Declared dependencies, pinned constraints and actual imports agree."""

from __future__ import annotations

import ast
import configparser
import importlib.metadata
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import graphsent

REPOSITORY = Path(__file__).resolve().parent.parent
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
# A module whose distribution has another name.
DISTRIBUTIONS = {"pytorch_lightning": "pytorch-lightning", "yaml": "pyyaml"}


@pytest.fixture(scope="module")
def config() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(REPOSITORY / "setup.cfg", encoding="utf-8")
    return parser


def requirements(text: str) -> list[Requirement]:
    lines = [line.strip() for line in text.splitlines()]
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def declared(config: configparser.ConfigParser) -> list[Requirement]:
    extras = config["options.extras_require"]
    texts = [config["options"]["install_requires"], *(extras[name] for name in extras)]
    return [requirement for text in texts for requirement in requirements(text)]


def pins(python: str) -> dict[str, str]:
    """Name and version of every constraint that applies to a Python version on Linux."""
    environment = {"python_version": python, "sys_platform": "linux"}
    text = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for pin in requirements(text):
        if pin.marker is None or pin.marker.evaluate(environment):
            (specifier,) = pin.specifier
            assert specifier.operator == "==", pin
            assert pin.name not in found, f"{pin.name} is pinned twice for Python {python}"
            found[pin.name] = specifier.version
    return found


@pytest.mark.parametrize("python", PYTHONS)
def test_every_declared_package_is_pinned_within_its_range(config, python):
    pinned = pins(python)
    for requirement in declared(config):
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)])


def test_all_places_name_the_same_pythons(config):
    prefix = "Programming Language :: Python :: 3."
    classifiers = config["metadata"]["classifiers"].split("\n")
    assert [each.split()[-1] for each in classifiers if each.startswith(prefix)] == PYTHONS
    supported = SpecifierSet(config["options"]["python_requires"])
    assert [f"{python}.1" in supported for python in ("3.9", *PYTHONS)] == [False, *[True] * 5]
    for name in ("README.md", "CONTRIBUTING.md"):
        assert "Python 3.10 to 3.14" in (REPOSITORY / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("python", PYTHONS)
def test_pip_is_asked_for_dgl_only_where_it_has_wheels(config, python):
    asked = [each for each in declared(config) if each.name == "dgl"]
    assert [each.marker.evaluate({"python_version": python}) for each in asked] == [
        python in ("3.10", "3.11", "3.12")
    ]


def test_installed_metadata_is_that_of_the_source():
    distribution = importlib.metadata.distribution("graphsent")
    assert distribution.version == graphsent.__version__
    (script,) = distribution.entry_points.select(group="console_scripts")
    assert (script.name, script.value) == ("graphsent", "graphsent.cli:main")


def third_party_imports(path: Path) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            modules.add(node.module.split(".")[0])
    return {name for name in modules - set(sys.stdlib_module_names) if name != "graphsent"}


def test_every_import_of_the_package_is_declared(config):
    names = {canonicalize_name(requirement.name) for requirement in declared(config)}
    for path in sorted((REPOSITORY / "graphsent").rglob("*.py")):
        for module in third_party_imports(path):
            assert canonicalize_name(DISTRIBUTIONS.get(module, module)) in names, (path, module)


def test_only_one_module_imports_dgl():
    importers = [
        path.name
        for path in (REPOSITORY / "graphsent").rglob("*.py")
        if "dgl" in third_party_imports(path)
    ]
    assert importers == []  # _dgl.py imports it by name


def test_type_information_ships_with_the_package():
    assert (Path(graphsent.__file__).parent / "py.typed").is_file()


def test_sources_of_the_kernels_ship_with_the_package(config):
    patterns = config["options.package_data"]["graphsent.kernels"].split()
    directory = REPOSITORY / "graphsent" / "kernels"
    shipped = {path for pattern in patterns for path in directory.glob(pattern)}
    sources = {path for path in directory.rglob("*") if path.suffix in {".c", ".h"}}
    assert shipped == sources
    assert directory / "c" / "kernels.c" in sources


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A directory with the inputs of `make venv`, and one for fake interpreters (shell scripts)."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    for name in ["Makefile", "setup.cfg", "setup.py", "pyproject.toml", "constraints.txt"]:
        shutil.copy(REPOSITORY / name, tmp_path)
    (tmp_path / "bin").mkdir()
    return tmp_path


# Answers the probes, builds an environment around itself, and records the calls of pip.
INTERPRETER = """#!/bin/sh
case "$1 $2" in
"-c import ensurepip"*) exit {incomplete} ;;
"-c "*) exit {unsupported} ;;
"-m venv")
    mkdir -p .venv/bin && cp "$0" .venv/bin/python
    echo "#!$PWD/.venv/bin/python" > .venv/bin/pip ;;
"-m pip") echo "$@" >> pip.log; test ! -e pip-fails ;;
"-m graphsent") echo "$3" >> graphsent.log ;;
esac
"""


def add_interpreter(checkout: Path, name: str, *, unsupported: int = 0, incomplete: int = 0):
    path = checkout / "bin" / name
    path.write_text(INTERPRETER.format(unsupported=unsupported, incomplete=incomplete))
    path.chmod(0o755)
    return path


def make_venv(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    return subprocess.run(
        ["make", "-C", str(checkout), "venv", *arguments],
        env={**inherited, "PATH": f"{checkout / 'bin'}{os.pathsep}{inherited['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )


def pip_calls(checkout: Path) -> int:
    return len((checkout / "pip.log").read_text().splitlines())


def dgl_installations(checkout: Path) -> int:
    return (checkout / "graphsent.log").read_text().splitlines().count("install-dgl")


def test_make_venv_installs_once_and_takes_an_interrupted_installation_up(checkout):
    add_interpreter(checkout, "python3", unsupported=127, incomplete=127)  # a shim without Python
    add_interpreter(checkout, "python3.12")
    (checkout / "pip-fails").touch()
    assert make_venv(checkout).returncode != 0
    assert not (checkout / ".venv" / ".installed").exists()
    assert pip_calls(checkout) == 1

    (checkout / "pip-fails").unlink()
    assert make_venv(checkout).returncode == 0
    assert pip_calls(checkout) == 3  # torch, then the rest
    assert dgl_installations(checkout) == 1
    assert make_venv(checkout).returncode == 0
    assert pip_calls(checkout) == 3

    stamp = (checkout / ".venv" / ".installed").stat().st_mtime
    os.utime(checkout / "constraints.txt", (stamp + 10, stamp + 10))
    assert make_venv(checkout).returncode == 0
    assert pip_calls(checkout) == 5


def test_make_venv_rebuilds_an_environment_copied_from_elsewhere(checkout):
    add_interpreter(checkout, "python3")
    assert "Building .venv" in make_venv(checkout).stdout
    (checkout / ".venv" / "bin" / "pip").write_text("#!/elsewhere/.venv/bin/python\n")
    assert "Building .venv" in make_venv(checkout).stdout
    assert pip_calls(checkout) == 4


def test_make_venv_says_that_no_interpreter_is_supported(checkout):
    python = add_interpreter(checkout, "python3.15", unsupported=1, incomplete=1)
    result = make_venv(checkout, f"PYTHON={python}")
    assert result.returncode != 0
    assert f"error: no Python 3.10 to 3.14 among: {python}." in result.stderr
    assert not (checkout / ".venv").exists()


def test_make_venv_says_that_ensurepip_is_missing(checkout):
    python = add_interpreter(checkout, "python3.11", incomplete=1)
    result = make_venv(checkout, f"PYTHON={python}")
    assert result.returncode != 0
    assert f"error: {python} cannot create virtual environments" in result.stderr
    assert "apt install python3-venv" in result.stderr
