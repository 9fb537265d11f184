"""A small hyperparameter search for a configuration of `graphsent reproduce`, on dev only.

    pip install 'graphsent[search]'
    python examples/search.py arnn-lstm-static-sst5 --trials 8 --data-dir DATA \
        --choose training.lr 0.02 0.05 0.1 --choose model_options.embedding_dropout 0.3 0.5

Optuna proposes the trials, starting with the shipped settings. A trial is a run of `graphsent
train` with seed 0, or on fold 0, and its value is the dev metric of the best epoch; with --seeds N,
it is the mean over N seeds or folds. All trials are kept in
docs/results/search/CONFIGURATION.json; the same command with more --trials continues the search.
A trial whose training fails, as with too high a learning rate, is kept with the reason.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import yaml

from graphsent._files import write_json
from graphsent.errors import DataError, GraphsentError
from graphsent.reproduction import Catalogue, Configuration, Places, Run
from graphsent.training import RunConfig, TrainingFailed, train
from graphsent.training.building import completed
from graphsent.training.config_file import from_yaml, to_yaml

_VARIED = ("training.seed", "task_options.fold")
"""Settings that each run of a trial has of its own."""


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "configuration", help="name of a configuration, see `graphsent config list`"
    )
    parser.add_argument(
        "--choose",
        nargs="+",
        action="append",
        required=True,
        metavar=("SETTING", "VALUE"),
        help="a setting, such as training.lr, and the values to choose from",
    )
    parser.add_argument("--trials", type=int, default=8, help="total number of trials (default: 8)")
    parser.add_argument("--seeds", type=int, default=1, help="seeds per trial (default: 1)")
    parser.add_argument("--out", type=Path, default=Path("docs/results/search"))
    for name in ("--data-dir", "--parses-dir", "--vectors-dir", "--encoder"):
        parser.add_argument(name)
    return parser.parse_args(given)


def search(
    configuration: Configuration,
    choices: Mapping[str, list[Any]],
    num_trials: int,
    places: Places,
    path: Path,
    num_seeds: int = 1,
) -> list[dict[str, Any]]:
    """Runs trials until there are enough, or all combinations of settings have been tried.

    Args:
        configuration: The configuration to vary.
        choices: Dotted name of a setting -> its candidate values.
        num_trials: Total number of trials, including those in the file.
        places: Where the data are.
        path: The file of trials, written after each trial.
        num_seeds: Number of runs per trial, with seeds from 0, or on folds from 0.

    Returns:
        All trials: their settings, mean dev metrics, best epoch of each run, and CPU minutes; of a
        trial that failed, no metrics but the reason.

    Raises:
        GraphsentError: A setting is invalid, or the file is of another search.
    """
    first = {name: values[0] for name, values in choices.items()}
    for name, values in choices.items():
        if name in _VARIED:
            raise DataError(f"--choose {name}: varied by --seeds: expected another setting")
        if any(value in values[:number] for number, value in enumerate(values)):
            raise DataError(f"--choose {name}: expected different values, got {values}")
        for value in values:  # before trials that take hours
            RunConfig.from_dict(_config(configuration, {**first, name: value}))
    record: dict[str, Any] = {"configuration": configuration.name, "shipped": configuration.config}
    record |= {"choices": choices, "seeds": num_seeds, "trials": []}
    path.parent.mkdir(parents=True, exist_ok=True)
    trials = _kept(path, record)
    space: dict[str, optuna.distributions.BaseDistribution] = {
        name: optuna.distributions.CategoricalDistribution(values)
        for name, values in choices.items()
    }
    sampler = optuna.samplers.TPESampler(seed=0, n_startup_trials=4)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for done in trials:
        study.add_trial(
            optuna.trial.create_trial(
                params=done["settings"], distributions=space, value=_value(done)
            )
        )
    shipped = {name: _shipped(configuration, name) for name in choices}
    if all(shipped[name] in values for name, values in choices.items()):
        study.enqueue_trial(shipped)
    wanted = min(num_trials, math.prod(map(len, choices.values())))
    while len(trials) < wanted:
        trial = study.ask(space)
        same = [done for done in trials if done["settings"] == trial.params]
        if not same:
            same = [_trial(configuration, trial.params, places, num_seeds)]
            trials = _kept(path, record)  # also those of another process in the meantime
            if trial.params not in [done["settings"] for done in trials]:
                trials += same
            write_json(path, {**record, "trials": trials}, indent=1)
            print(json.dumps(same[0]), flush=True)
        study.tell(trial, _value(same[0]))
    return trials


def _kept(path: Path, record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The trials in the file, which must be of the same search."""
    if not path.exists():
        return []
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path}: damaged: {error}") from None
    if not isinstance(before, dict) or {**before, "trials": []} != record:
        raise DataError(f"{path}: holds a search with other settings: expected another --out")
    return before["trials"]


def _trial(
    configuration: Configuration, settings: Mapping[str, Any], places: Places, num_seeds: int
) -> dict[str, Any]:
    changed = replace(configuration, config=_config(configuration, settings))
    runs = Run.of(changed, range(num_seeds))[:num_seeds]
    begin = time.process_time()
    found: dict[str, Any] = {"settings": dict(settings)}
    try:
        results = [_trained(run, places) for run in runs]
        found["dev"] = {
            name: round(sum(each["dev"][name] for each in results) / len(results), 6)
            for name in results[0]["dev"]
        }
        found["best_epochs"] = [each["best_epoch"] for each in results]
    except TrainingFailed as error:
        found |= {"dev": {}, "failed": str(error)}
    return {**found, "minutes": round((time.process_time() - begin) / 60, 2)}


def _trained(run: Run, places: Places) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        located = places.locate(run.run_config())
        return train(located, Path(directory) / "run", test=False, echo=lambda line: None)


def _value(trial: Mapping[str, Any]) -> float:
    """The value of the main metric, which is the first; of a failed trial, the lowest."""
    return next(iter(trial["dev"].values()), -math.inf)


def _shipped(configuration: Configuration, name: str) -> Any:
    """A setting by its dotted name; its default if the configuration does not set it."""
    value: Any = completed(configuration.run_config()).to_dict()
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _config(configuration: Configuration, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a configuration with those of a trial."""
    config = dict(configuration.config)
    for name, value in settings.items():
        config = _changed(config, name.split("."), value)
    return config


def _changed(config: Any, names: list[str], value: Any) -> dict[str, Any]:
    first, *rest = names
    if not isinstance(config, Mapping):
        raise DataError(f"--choose: {first!r} names a part of a setting that has no parts")
    return {**config, first: _changed(config.get(first, {}), rest, value) if rest else value}


def _parsed(text: str) -> Any:
    """A value of a setting, as in a configuration file."""
    try:
        return from_yaml(text)
    except (yaml.YAMLError, ValueError):
        raise DataError(f"--choose: expected a value in YAML, got {text!r}") from None


def main(given: Sequence[str] | None = None) -> int:
    """Runs the search, prints the best trial, and returns the exit status."""
    options = arguments(given)
    places = Places(options.data_dir, options.parses_dir, options.vectors_dir, options.encoder)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        choices = {name: list(map(_parsed, values)) for name, *values in options.choose}
        if min(options.trials, options.seeds) < 1 or not all(choices.values()):
            expected = "at least one trial and seed, and at least one value per setting"
            raise DataError(f"expected {expected}")
        if len(choices) < len(options.choose):
            raise DataError("--choose: expected each setting once, with all its values")
        configuration = Catalogue().configuration(options.configuration)
        path = options.out / f"{configuration.name}.json"
        trials = search(configuration, choices, options.trials, places, path, options.seeds)
    except (GraphsentError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as error:
        print("interrupted; the same command resumes after the last complete trial")
        return 128 + getattr(error, "signal_number", signal.SIGINT)
    best = max(trials, key=_value)
    print(f"best of {len(trials)} trials, {sum(t['minutes'] for t in trials):.1f} CPU minutes:")
    print(to_yaml(best), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
