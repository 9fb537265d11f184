"""The metric that selects the best epoch: by default the task's own, or another by name."""

from __future__ import annotations

import pytest
from toy_treebank import silent

from graphsent.tasks import get_task
from graphsent.training import RunConfig, TrainingError, TrainingOptions, load_model, resume, train
from graphsent.training.selection import Selection, selection_of

WORDS = ("good", "lovely", "fine", "dull", "bad")


@pytest.fixture
def scores(tmp_path):
    """The configuration of a run on scores of sentences; arguments are training options."""
    path = tmp_path / "scores.tsv"
    lines = [f"{4 - i % 5 + i % 3 / 4}\ta {WORDS[i % 5]} film of {i}\n" for i in range(80)]
    path.write_text("".join(lines))

    def configure(dev: str = "", **training) -> RunConfig:
        options = {"train": str(path), "regression": True, **({"dev": dev} if dev else {})}
        plain = TrainingOptions(num_threads=1, logger="none", **training)
        return RunConfig("own", "nbow", options, {"embedding_dim": 4}, training=plain)

    return configure


def test_the_first_of_the_best_epochs():
    history = [{"epoch": n, "dev_a": value} for n, value in enumerate((2, 3, 1, 3, 1), start=1)]
    assert Selection("a").best(history)["epoch"] == 2
    assert Selection("a", is_lower_better=True).best(history)["epoch"] == 3


def test_the_metrics_of_a_task_may_be_selected_by():
    assert selection_of(get_task("sick"), "auto") == Selection("pearson")
    assert selection_of(get_task("sick"), "pearson") == Selection("pearson")
    assert selection_of(get_task("sick"), "spearman") == Selection("spearman")
    assert selection_of(get_task("sick"), "mse") == Selection("mse", is_lower_better=True)
    assert selection_of(get_task("sst5"), "phrase_accuracy") == Selection("phrase_accuracy")
    assert selection_of(get_task("rerank"), "f1") == Selection("f1")
    for task, valid in (("sick", "auto, pearson, mse, spearman"), ("rerank", "auto, f1")):
        with pytest.raises(TrainingError, match=f"metric 'rmse': expected one of {valid}"):
            selection_of(get_task(task), "rmse")


def test_a_metric_that_may_be_good_in_either_direction_is_not_selected_by(monkeypatch):
    task = get_task("sick")
    monkeypatch.setattr(type(task.metrics()["mse"]), "higher_is_better", None)
    with pytest.raises(TrainingError, match="metric 'mse': expected one of auto, pearson, spear"):
        selection_of(task, "mse")


def test_the_lowest_error_selects_the_epoch(scores, tmp_path):
    config = scores(epochs=8, select="mse", lr=0.5)
    results = train(config, tmp_path / "run", echo=silent)
    errors = [entry["dev_mse"] for entry in results["history"]]
    correlations = [entry["dev_pearson"] for entry in results["history"]]
    assert results["best_epoch"] == 1 + errors.index(min(errors))
    assert results["best_epoch"] != 1 + correlations.index(max(correlations))
    assert next(iter(results["dev"])) == next(iter(results["test"])) == "mse"
    assert results["training"]["select"] == "mse"


def test_early_stopping_and_the_model_follow_the_metric(scores, tmp_path):
    lines = []
    config = scores(epochs=30, select="mse", lr=0.5, patience=2)
    results = train(config, tmp_path / "run", echo=lines.append)
    errors = [entry["dev_mse"] for entry in results["history"]]
    assert len(errors) == results["best_epoch"] + 2 < 30
    best = [line for line in lines if "best so far" in line]
    assert best[-1].startswith(f"epoch {results['best_epoch']}/30: ")
    _, data = config.load_data(splits=("dev",))
    model = load_model(tmp_path / "run")
    predicted = map(float, model.predict(data.splits["dev"]))
    gold = [float(each.label) for each in data.splits["dev"]]
    error = sum((a - b) ** 2 for a, b in zip(predicted, gold, strict=True)) / len(gold)
    assert error == pytest.approx(min(errors), abs=1e-5)


def test_the_epoch_does_not_depend_on_the_scale_of_the_scores(scores, tmp_path):
    config = scores(epochs=8, select="mse", lr=0.5)
    path = tmp_path / "scores.tsv"
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    runs = []
    for name, scale in (("whole", 1.0), ("small", 2.0**-20)):
        path.write_text("".join(f"{scale * float(score)}\t{text}\n" for score, text in lines))
        runs.append(train(config, tmp_path / name, echo=silent))
    first, second = runs
    assert second["best_epoch"] == first["best_epoch"] > 1
    assert second["dev"]["mse"] == pytest.approx(2.0**-40 * first["dev"]["mse"], rel=1e-4)


def test_a_resumed_run_selects_by_the_same_metric(scores, tmp_path):
    whole = train(scores(epochs=6, select="mse", lr=0.5), tmp_path / "whole", echo=silent)
    train(scores(epochs=3, select="mse", lr=0.5), tmp_path / "run", echo=silent)
    longer = resume(tmp_path / "run", epochs=6, echo=silent)
    assert longer["best_epoch"] == whole["best_epoch"]
    assert longer["dev"] == whole["dev"]


def test_equal_scores_of_dev_have_an_error_but_no_correlation(scores, tmp_path):
    dev = tmp_path / "dev.tsv"
    dev.write_text("2\tone film\n2\tanother film\n")
    with pytest.raises(ValueError, match="dev: all scores are 2"):
        train(scores(str(dev), epochs=1), tmp_path / "run", echo=silent)
    train(scores(str(dev), epochs=1, select="mse"), tmp_path / "run", echo=silent)


def test_an_unknown_metric_is_refused_before_training(configure, tmp_path):
    with pytest.raises(TrainingError, match="select: unknown metric 'macro_f1': expected one of"):
        train(configure(select="macro_f1"), tmp_path / "run", echo=silent)
    assert not (tmp_path / "run").exists()
    results = train(configure(select="phrase_accuracy", epochs=2), tmp_path / "run", echo=silent)
    assert next(iter(results["dev"])) == "phrase_accuracy"
