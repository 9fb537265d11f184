"""The examples run as their first lines say, at small sizes, and so do those of docs/reuse.md."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from graphsent.models import NBoW
from graphsent.vocabulary import Vocabulary

REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "examples"


@pytest.fixture
def run(monkeypatch, capsys):
    """Runs an example, without starting another interpreter, and returns what it printed."""

    def run_example(name: str, *arguments: str) -> str:
        path = str(EXAMPLES / f"{name}.py")
        monkeypatch.setattr(sys, "argv", [path, *arguments])
        runpy.run_path(path, run_name="__main__")
        return capsys.readouterr().out

    return run_example


def test_with_graph_convolutions():
    command = [
        sys.executable,
        str(EXAMPLES / "beside_graphconv.py"),
        "--epochs=1",
        "--functions=12",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^convolutions.* [\d.]+%$", done.stdout, re.MULTILINE)) == 2


@pytest.mark.parametrize("option", ["--epochs=0", "--functions=0", "--functions=-1"])
def test_without_functions_or_epochs_there_is_nothing_to_compare(option, run, capsys):
    with pytest.raises(SystemExit, match="2"):
        run("beside_graphconv", option)
    message = "error: expected at least one epoch, and one function per module\n"
    assert capsys.readouterr().err.endswith(message)


def test_a_batch_of_torch_geometric(run):
    pytest.importorskip("torch_geometric", reason="needs torch_geometric")
    assert re.search(r"new graphs: [\d.]+% correct", run("torch_geometric_batch", "--steps=2"))


@pytest.mark.parametrize(
    ("name", "status", "printed"),
    [
        (None, 0, "<td>very positive</td>"),
        ("nowhere", 2, "error: no saved model: nowhere is not a directory"),
    ],
)
def test_a_web_page(name, status, printed):
    pytest.importorskip("gradio", reason="needs gradio")
    # Instead of serving the page, its function is called.
    code = """
import runpy, gradio
gradio.Interface.launch = lambda page, **_: print(page.fn("A film of great charm."))
runpy.run_path({path!r}, run_name="__main__")
""".format(path=str(EXAMPLES / "web_page.py"))
    command = [sys.executable, "-c", code, *filter(None, [name])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, printed in done.stdout + done.stderr) == (status, True)


def test_the_web_page_of_a_regression_model(tmp_path, run, monkeypatch):
    NBoW(Vocabulary(["film"]), 1, 3).save_pretrained(tmp_path / "scores")
    gradio = MagicMock()  # need not be installed
    monkeypatch.setitem(sys.modules, "gradio", gradio)
    run("web_page", str(tmp_path / "scores"))
    predict = gradio.Interface.call_args.args[0]
    assert re.fullmatch(r"-?\d\.\d{3}", predict("a film"))


def test_edge_lists(run):
    assert re.search(r"60 gates: [\d.]+% of the gates correct", run("edge_lists", "--steps=2"))


def test_one_edge_type(run):
    assert "(4, 16)" in run("one_edge_type")


def test_the_code_of_the_page_runs():
    text = (REPOSITORY / "docs" / "reuse.md").read_text(encoding="utf-8")
    names: dict = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        exec(compile(block, "docs/reuse.md", "exec"), names)
        assert names["states"].shape == (names["states"].shape[0], 32)
    for name in re.findall(r"python (examples|benchmarks)/(\w+\.py)", text):
        assert REPOSITORY.joinpath(*name).is_file()
