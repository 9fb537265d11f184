"""Every notebook runs from top to bottom and is stored without outputs."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

DIRECTORY = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(DIRECTORY.glob("*.ipynb"))
QUICK = {"01_trees_as_graphs", "02_message_passing", "10_levels"}  # a few seconds each
every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path):
    nbformat = pytest.importorskip("nbformat", reason="needs the extra 'notebooks'")
    return nbformat.read(path, as_version=4)


def is_solution(cell) -> bool:
    return "solution" in cell.metadata.get("tags", ())


def names_in(cell) -> list[ast.Name]:
    """The variables in the code of a cell."""
    return [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Name)]


def defined_in(cell) -> set[str]:
    """The variables, functions and classes that a cell defines."""
    nodes = ast.walk(ast.parse(cell.source))
    defined = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return defined | {name.id for name in names_in(cell) if isinstance(name.ctx, ast.Store)}


def test_notebooks_are_numbered():
    assert [int(path.stem[:2]) for path in NOTEBOOKS] == list(range(1, len(NOTEBOOKS) + 1))
    assert {path.stem for path in NOTEBOOKS} >= QUICK


@every_notebook
def test_notebooks_are_stored_without_outputs(path):
    for cell in read(path).cells:
        assert not cell.get("outputs"), f"{path.name}: clear the outputs of {cell.source[:40]!r}"
        assert cell.get("execution_count") is None


@every_notebook
def test_every_exercise_has_a_task_a_solution_and_a_check(path):
    cells = read(path).cells
    places = [place for place, cell in enumerate(cells) if is_solution(cell)]
    tasks = [place for place, cell in enumerate(cells) if "## Exercise" in cell.source]
    assert len(places) >= 2
    assert tasks == [place - 1 for place in places]
    for place in places:
        assert cells[place].source.startswith("# ")
        assert not is_solution(cells[place + 1])
        assert cells[place + 1].cell_type == "code"


@every_notebook
def test_checks_need_only_what_an_exercise_asks_for(path):
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
    others = [cell for cell in cells if not is_solution(cell)]
    given = set().union(*map(defined_in, others))
    used = {name.id for cell in others for name in names_in(cell)}
    for place, cell in enumerate(cells):
        if is_solution(cell):
            asked_for = set(re.findall(r"\w+", cell.source.partition("\n")[0]))
            needed = (defined_in(cell) - asked_for - given) & used
            assert not needed, f"{path.name}: only the solution defines {needed}"
            assert "assert" in cells[place + 1].source or "check_cell" in cells[place + 1].source


def test_exercises_have_no_solutions(tmp_path):
    command = [sys.executable, str(DIRECTORY / "exercises.py"), "--out", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    assert [path.name for path in sorted(tmp_path.iterdir())] == [path.name for path in NOTEBOOKS]
    for path in NOTEBOOKS:
        before, after = read(path).cells, read(tmp_path / path.name).cells
        assert len(before) == len(after)
        for old, new in zip(before, after, strict=True):
            if is_solution(old):
                assert re.fullmatch(r"(#.*\n)+\.\.\.  # your code", new.source)
                assert new.metadata["tags"] == ["exercise"]
            else:
                assert new == old


def test_help_lists_the_notebooks_and_unknown_ones_are_refused(tmp_path):
    command = [sys.executable, str(DIRECTORY / "exercises.py")]
    result = subprocess.run([*command, "--help"], check=True, capture_output=True, text=True)
    assert all(path.stem in result.stdout for path in NOTEBOOKS)
    command += ["--out", str(tmp_path), "treenet"]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    assert result.returncode == 2
    assert "10_levels; did you mean '05_treenet'?" in result.stderr
    assert not list(tmp_path.iterdir())


# Warnings about sockets of nbclient and the kernel, not of a notebook.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=() if path.stem in QUICK else pytest.mark.slow)
        for path in NOTEBOOKS
    ],
)
def test_notebook_runs(path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="needs the extra 'notebooks'")
    for name in ("GRAPHSENT_DATA", "GRAPHSENT_PARSES"):
        monkeypatch.setenv(name, "/nowhere")  # the text is about the embedded data
    client = nbclient.NotebookClient(
        read(path),
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": path.parent}},
    )
    client.execute()  # raises with the cell and its traceback
