"""Loggers of metrics besides the run's CSV file, with stand-ins for the services."""

from __future__ import annotations

import os
import sys
from types import ModuleType, SimpleNamespace

import pytest
from pytorch_lightning.loggers import Logger

from graphsent.cli import main
from graphsent.training import RunConfig, TrainingOptions, loggers, train, train_runs


class Service(Logger):
    """A Lightning logger that records what it is given."""

    made: list[Service] = []  # noqa: RUF012

    def __init__(self, *args, **options) -> None:
        super().__init__()
        self.options = options
        self.hyperparameters: dict = {}
        self.figures: list[dict[str, float]] = []
        self.finished = 0
        self.experiment = SimpleNamespace(finish=self.finish)
        Service.made.append(self)

    name = "service"
    version = "0"

    def finish(self) -> None:
        self.finished += 1

    def log_hyperparams(self, params, *args, **options) -> None:
        self.hyperparameters.update(params)

    def log_metrics(self, metrics, step=None) -> None:
        self.figures.append(metrics)


@pytest.fixture(autouse=True)
def services(monkeypatch) -> list[Service]:
    """All loggers that were created; the packages count as installed."""
    Service.made = []
    for name in ("WandbLogger", "MLFlowLogger"):
        monkeypatch.setattr(loggers, name, Service)
    for name in ("wandb", "mlflow"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    return Service.made


def config(logger: str) -> RunConfig:
    options = TrainingOptions(epochs=2, logger=logger)
    return RunConfig("trec", "nbow", training=options)


def quiet(_line: str) -> None:
    pass


def test_a_service_failure_gives_one_line(tmp_path, monkeypatch, capsys):
    def refuse(self, params):
        raise RuntimeError("no such\n  server")

    monkeypatch.setattr(Service, "log_hyperparams", refuse)
    arguments = ["--task=trec", "--model=nbow", "--epochs=1", "--logger=mlflow"]
    assert main(["train", *arguments, f"--out={tmp_path / 'run'}"]) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error == "graphsent train: --logger mlflow: no such server"


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_a_service_gets_settings_and_the_metrics_of_each_epoch(services, name, tmp_path):
    train(config(name), tmp_path / "run", echo=quiet)
    (service,) = services
    assert service.hyperparameters["model"] == "nbow"
    assert service.hyperparameters["training"]["epochs"] == 2
    accuracies = [each["dev_accuracy"] for each in service.figures if "dev_accuracy" in each]
    assert len(accuracies) == 2
    assert (tmp_path / "run" / "logs" / "metrics.csv").is_file()
    assert not (tmp_path / "run" / "logs" / "tensorboard").exists()


def test_each_of_several_runs_has_a_logger_that_is_finished(services, tmp_path):
    train_runs(config("wandb"), tmp_path / "runs", seeds=[0, 1], echo=quiet)
    assert [service.finished for service in services] == [1, 1]
    assert [service.options["name"] for service in services] == ["seed-0", "seed-1"]


def test_mlflow_writes_to_its_server_or_into_the_run(services, tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    train(config("mlflow"), tmp_path / "a", echo=quiet)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://localhost:5000")
    train(config("mlflow"), tmp_path / "b", echo=quiet)
    inside, server = (service.options["tracking_uri"] for service in services)
    assert str(tmp_path / "a" / "logs") in inside
    assert server == "http://localhost:5000"


def test_mlflow_writes_each_of_several_runs_into_that_run(services, tmp_path, monkeypatch):
    def log_hyperparams(self, params):  # MLflow keeps its address in the environment
        os.environ["MLFLOW_TRACKING_URI"] = self.options["tracking_uri"]

    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(Service, "log_hyperparams", log_hyperparams)
    train_runs(config("mlflow"), tmp_path / "runs", seeds=[0, 1], echo=quiet)
    for number, service in enumerate(services):
        assert str(tmp_path / "runs" / f"seed-{number}" / "logs") in service.options["tracking_uri"]
    assert "MLFLOW_TRACKING_URI" not in os.environ


def test_without_a_logger_there_is_only_the_csv_file(services, tmp_path):
    train(config("none"), tmp_path / "run", echo=quiet)
    assert [path.name for path in (tmp_path / "run" / "logs").iterdir()] == ["metrics.csv"]
    assert services == []


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("wandb", "wandb"),
        ("mlflow", "mlflow"),
        ("pytorch_lightning", "train"),
        ("torchmetrics", "train"),
    ],
)
def test_a_package_that_is_missing_is_named_before_any_work(
    name, extra, tmp_path, monkeypatch, capsys
):
    monkeypatch.setitem(sys.modules, name, None)
    logger = name if name == extra else "none"
    arguments = ["--task=trec", "--model=nbow", f"--logger={logger}", f"--out={tmp_path / 'run'}"]
    assert main(["train", *arguments]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert f"pip install 'graphsent[{extra}]'" in err
    assert not (tmp_path / "run").exists()
