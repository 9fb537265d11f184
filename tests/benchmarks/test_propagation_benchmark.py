"""The propagation benchmark: it compares equal computations, and loses no measurement."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # 25 s of the default tests, for a script of ours

REPOSITORY = Path(__file__).resolve().parents[2]
BENCHMARKS = REPOSITORY / "benchmarks"
TINY = ["--in-feats", "8", "--hidden-feats", "6", "--batch-sizes", "2", "--trees-a-round", "2"]
TINY += ["--rounds", "2", "--budget", "0.01", "--kinds", "step"]
TINY += ["--depths", "1,4", "--widths", "1,5", "--node-counts", "5000"]
TINY += ["--models", "treelstm,sequence-sentences", "--steps", "2", "--training-batch-sizes", "2,3"]
BLOCK = "<!-- benchmark: {} -->\nold\n<!-- end of benchmark -->\n"
MEASURED = ["contenders", "training", "cells", "chains", "stars", "sizes", "threads"]
DOCUMENT = "".join(["before\n", *map(BLOCK.format, MEASURED), "between\n", BLOCK.format("memory")])


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / "propagation.py"), *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def directory(tmp_path_factory) -> Path:
    """The results of a tiny run on the embedded trees."""
    directory = tmp_path_factory.mktemp("benchmark")
    (directory / "page.md").write_text(DOCUMENT)
    (directory / "README.md").write_text("above\n" + BLOCK.format("speed"))
    files = ["--out", str(directory / "all"), "--docs", str(directory / "page.md")]
    files.append(str(directory / "README.md"))
    done = run("--data-dir", str(REPOSITORY / "data"), "--only", ",".join(MEASURED), *TINY, *files)
    assert done.returncode == 0, done.stderr
    return directory


@pytest.fixture(scope="module")
def results(directory) -> dict:
    return json.loads((directory / "all" / "propagation.json").read_text())


def test_all_contenders_compute_the_same(results):
    from harness.machine import cpu_count

    measured = set(MEASURED) - ({"threads"} if cpu_count() < 2 else set())
    assert {row["section"] for row in results["rows"]} == measured
    assert not any("left out" in note for notes in results["notes"].values() for note in notes)


@pytest.mark.parametrize("cell", ["NaryTreeLSTM", "ChildSumTreeLSTM"])
def test_every_contender_takes_part_or_is_not_installed(results, cell):
    names = {
        row["contender"]
        for row in results["rows"]
        if row["section"] == "contenders" and row["case"]["cell"] == cell
    }
    expected = {"dgl", "drop-in", "levels", "levels, words", "levels, words, no kernels"}
    if cell == "ChildSumTreeLSTM":
        if importlib.util.find_spec("treelstm"):
            expected.add("pytorch-tree-lstm")
        else:
            assert any("not installed" in note for note in results["notes"]["contenders"])
    assert names == expected


def test_every_trained_contender_runs_with_and_without_flushed_subnormals(results):
    found: dict[str, set] = {}
    for row in results["rows"]:
        if row["section"] == "training":
            contender = (row["contender"], row["case"]["flushed"])
            found.setdefault(row["case"]["model"], set()).add(contender)
    names = ["graphsent train", 'engine="dgl"', "DGL's own example"]
    if importlib.util.find_spec("dynet"):
        names.append("DyNet, autobatch")
    else:
        assert any("not installed" in note for note in results["notes"]["training"])
    expected = {(name, flushed) for name in names for flushed in (True, False)}
    for flushed in (True, False):  # the default of the program
        as_users = {(name, flushed) for name in (names[0], "graphsent train, first steps")}
        if found["sequence-sentences"] == as_users:
            assert found["treelstm"] == expected | as_users
            return
    raise AssertionError(found)


@pytest.mark.parametrize("size", [2, 3])
def test_contenders_as_users_run_them_are_marked(results, size):
    rows = [
        row
        for row in results["rows"]
        if (row["section"], row["case"].get("model")) == ("training", "treelstm")
        and row["case"]["batch"] == size
    ]
    default = [row["contender"] for row in rows if row["users"]]
    assert sorted(default) == sorted({row["contender"] for row in rows})


def test_models_timed_at_one_batch_size_have_a_table_of_their_own():
    from harness.measuring import Row
    from harness.options import DGL, PROGRAM
    from harness.tables import speed

    rows = [
        Row("training", {"model": model, "batch": batch, "flushed": flushed}, name, [seconds] * 2)
        for model, batch in (("treelstm", 25), ("treelstm", 256), ("apdcnn", 50))
        for flushed in (True, False)
        for name, seconds in ((PROGRAM, 1.0), (DGL, 2.0))
    ]
    for row in rows:
        row.users = row.case["flushed"] == (row.contender == PROGRAM)
    several, alone = speed(rows).split("\n\n")
    assert several.splitlines()[-1].count("2.0") == 4 * 3  # a median and its range
    assert "apdcnn" not in several
    last = alone.splitlines()[-1]
    assert last == f"| `apdcnn`, batch 50, `{DGL}` | 2.0 (2.0-2.0) | 2.0 (2.0-2.0) |"


def test_all_cells_are_measured(results):
    from graphsent import cells

    rows = [row for row in results["rows"] if row["section"] != "training"]
    measured = {row["case"]["cell"].split(",")[0] for row in rows}
    others = {"TreeCell", "SlottedCell"}  # base classes
    modules = {name for name in cells.__all__ if hasattr(getattr(cells, name), "out_feats")}
    assert measured == modules - others


def test_the_report_has_tables_and_the_machine(directory):
    from harness.machine import cpu_count

    text = (directory / "all" / "propagation.md").read_text()
    cores = ("two threads", f"{cpu_count()} cores") if cpu_count() > 1 else ("1 core,",)
    for name in ("speedup over `dgl`", *cores):
        assert name in text
    for name in (
        "| `treelstm`, DGL's own example |",
        "| `sequence-sentences`, batch 25 |",
        "| time relative to first steps |",
        "random vectors",
    ):
        assert name in text


def test_the_blocks_of_a_document_are_replaced(directory):
    text = (directory / "page.md").read_text()
    assert text.startswith("before\n<!-- benchmark: contenders -->\n**NaryTreeLSTM**")
    assert text.count("old") == 1
    speed = (directory / "README.md").read_text()
    first = "above\n<!-- benchmark: speed -->\n| speedup of `graphsent train` over | batch 2, as"
    assert speed.startswith(first)
    assert "old" not in speed
    assert text.endswith(DOCUMENT.partition("between")[2])


def test_the_documentation_has_all_blocks():
    from harness.options import SECTIONS
    from harness.report import check_documents

    pages = [REPOSITORY / "docs" / "performance.md", REPOSITORY / "README.md"]
    check_documents(pages[:1], list(SECTIONS))
    check_documents(pages[1:], ["speed"])


def test_a_document_without_blocks_is_rejected_at_once(tmp_path):
    (tmp_path / "page.md").write_text("nothing")
    main = importlib.import_module("propagation").main
    with pytest.raises(SystemExit, match="has no block for training, contenders, cells"):
        main(["--docs", str(tmp_path / "page.md"), "--out", str(tmp_path)])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.md"]


def test_an_unknown_section_lists_the_valid_ones(capsys):
    from harness.options import parse

    with pytest.raises(SystemExit, match="2"):
        parse(["--only", "speed"], "")
    assert (
        "unknown 'speed': expected some of training, contenders, cells" in capsys.readouterr().err
    )


def test_quick_and_other_options():
    from harness.options import parse

    options, _ = parse(["--quick", "--rounds", "5", "--only", "sizes,chains"], "")
    assert (options.rounds, options.kinds, options.clock) == (5, ("step",), "cpu")
    assert options.sections == ("chains", "sizes")
    assert parse(["--threads", "2"], "")[0].clock == "wall"


@pytest.fixture
def bench(tmp_path):
    from harness.bench import Bench
    from harness.data import Corpus
    from harness.measuring import Results
    from harness.options import parse

    options, _ = parse([*TINY, "--data-dir", str(REPOSITORY / "data")], "")
    corpus = Corpus(options.data_dir, options.trees_a_round)
    return Bench(options, corpus, Results({}, {}), tmp_path / "results.json")


def test_a_missing_package_is_reported(bench, monkeypatch):
    monkeypatch.setitem(sys.modules, "treelstm", None)
    monkeypatch.delitem(sys.modules, "peers.tree_lstm_package", raising=False)
    bench.section = "contenders"
    names = [make.name for make in bench.makers("ChildSumTreeLSTM")]
    assert "pytorch-tree-lstm" not in names
    assert names[0] == "dgl"
    (note,) = bench.results.notes["contenders"]
    assert note.startswith("pytorch-tree-lstm: not installed")


def test_a_contender_that_computes_something_else_is_left_out(bench):
    from harness import engines

    class Wrong(engines.Dgl):
        name = "wrong"

        def states(self, graph):
            h, labels = super().states(graph)
            return h + 1e-3, labels

    model = bench.model("NaryTreeLSTM")
    bench.section = "contenders"
    batches = bench.corpus.batches(3)
    bench.compare({"cell": "x"}, [engines.Dgl(model), Wrong(model)], batches, ["forward"])
    assert [row.contender for row in bench.results.rows] == ["dgl"]
    (note,) = bench.results.notes["contenders"]
    assert "wrong is left out: its states differ by 0.001" in note


def test_memory_is_measured_in_a_separate_process(bench):
    from harness.memory import measure_memory

    measure_memory(bench, "NaryTreeLSTM", "dgl", 2)
    measure_memory(bench, "NoCell", "dgl", 2)
    (row,) = bench.results.rows
    assert row.unit == "bytes"
    assert row.case["before"] > 1 << 20
    assert 0 <= row.values[0] < 1 << 30
    (note,) = bench.results.notes["memory"]
    assert note.startswith("NoCell, dgl failed: ")


class Fake:
    """A contender that takes a given number of seconds on a fake clock."""

    def __init__(self, name: str, seconds: float, log: list[str]) -> None:
        self.name, self.seconds, self.log = name, seconds, log

    now = 0.0

    def prepare(self, batch):
        return batch

    def fresh(self, prepared):
        return prepared

    def step(self, prepared):
        self.log.append(self.name)
        Fake.now += self.seconds


def test_contenders_take_turns_until_their_budget_is_spent():
    from harness.measuring import race

    log: list[str] = []
    contenders = [Fake("fast", 1, log), Fake("slow", 4, log)]
    seconds = race(contenders, ["one batch"], "step", 4, 5.0, lambda: Fake.now)
    assert seconds == {"fast": [1, 1, 1, 1], "slow": [4, 4, None, None]}
    assert log == ["fast", "slow", "fast", "slow", "slow", "fast", "fast", "fast"]


def test_ratios_are_those_of_rounds_in_which_both_took_turns():
    from harness.measuring import Row, ratios

    base = Row("s", {}, "dgl", [4.0, 6.0, None])
    assert ratios(base, Row("s", {}, "ours", [2.0, None, 1.0])) == [2.0]


def test_results_are_saved_when_interrupted(tmp_path, monkeypatch, capsys):
    import harness.sections

    def stars_then_interrupt(bench):
        harness.sections.run_stars(bench)
        raise KeyboardInterrupt

    monkeypatch.setitem(harness.sections.RUN, "stars", stars_then_interrupt)
    module = importlib.import_module("propagation")
    arguments = [*TINY, "--data-dir", str(REPOSITORY / "data"), "--only", "stars,sizes"]
    assert module.main([*arguments, "--out", str(tmp_path)]) == 130
    assert "## stars" in capsys.readouterr().out
    rows = json.loads((tmp_path / "propagation.json").read_text())["rows"]
    assert {row["section"] for row in rows} == {"stars"}
