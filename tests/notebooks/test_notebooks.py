"""Every notebook runs from top to bottom and is kept without outputs."""

from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def read(path: Path):
    nbformat = pytest.importorskip("nbformat", reason="needs the extra 'notebooks'")
    return nbformat.read(path, as_version=4)


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_kept_without_outputs(path):
    for cell in read(path).cells:
        assert not cell.get("outputs"), f"{path.name}: clear the outputs of {cell.source[:40]!r}"
        assert cell.get("execution_count") is None


# nbclient and the kernel's own sockets: nothing that a notebook does.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="needs the extra 'notebooks'")
    monkeypatch.delenv("GRAPHSENT_DATA", raising=False)  # the embedded data
    client = nbclient.NotebookClient(
        read(path),
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": path.parent}},
    )
    client.execute()  # raises with the cell and its traceback
