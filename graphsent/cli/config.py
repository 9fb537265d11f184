"""List, show, copy and check run configurations."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from graphsent._files import write_atomically
from graphsent._names import nearest
from graphsent.cli.arguments.config import ACTIONS
from graphsent.cli.own_tasks import import_from_here
from graphsent.cli.statuses import in_one_line
from graphsent.cli.usage import UsageError, check_target, counted, refuse
from graphsent.errors import DataError
from graphsent.reproduction import Catalogue, Configuration, Places
from graphsent.training.building import completed
from graphsent.training.config_check import config_faults
from graphsent.training.config_file import read_settings, to_yaml

__all__ = ["run"]


def run(arguments: Any) -> None:
    """Runs the action asked for."""
    names = arguments.names
    for name in ACTIONS["copy"]:  # which reads all options
        if name not in ACTIONS[arguments.action]:
            readers = " and ".join(action for action, read in ACTIONS.items() if name in read)
            refuse(arguments, [name], f"has no effect on {arguments.action}: it is for {readers}")
    if arguments.action == "check":
        if not names:
            raise UsageError("check: expected FILE ..., got none")
        _check(names)
        return
    catalogue = Catalogue()
    if arguments.action == "list":
        _list(catalogue.configurations, names)
        return
    expected = {"show": ("NAME",), "copy": ("NAME", "FILE")}[arguments.action]
    if len(names) != len(expected):
        raise UsageError(f"{arguments.action}: expected {' '.join(expected)}, got {len(names)}")
    configuration = catalogue.configuration(names[0])
    if arguments.action == "show":
        print(_text(configuration, _values(configuration, brief=arguments.brief)), end="")
        return
    _copy(configuration, names[1], arguments)


def _list(configurations: Mapping[str, Configuration], words: Sequence[str]) -> None:
    """Prints one line per configuration whose name contains all the words."""
    shown = {
        name: each for name, each in configurations.items() if all(word in name for word in words)
    }
    if not shown:
        hint = nearest(" ".join(words), configurations)
        raise DataError(f"no configuration name contains {' and '.join(map(repr, words))}{hint}")
    print(f"{'':36}{'task':10}{'model':22}minutes")
    for name, each in shown.items():
        print(f"{name:36}{each.config['task']:10}{each.config['model']:22}{each.minutes:7g}")


def _copy(configuration: Configuration, target: str, arguments: Any) -> None:
    check_target(target, "copy")
    if os.path.exists(target):
        raise UsageError(f"copy: {target} already exists: expected a new file")
    places = Places(
        arguments.data_dir, arguments.parses_dir, arguments.vectors_dir, arguments.encoder
    )
    values, lacking = _values(configuration, brief=arguments.brief), None
    try:
        located = places.locate(configuration.run_config())
    except DataError as error:
        if arguments.vectors_dir or arguments.encoder:
            raise
        lacking = str(error)
    else:
        values["data_dir"] = located.data_dir
        if located.vectors:
            values["vectors"] = list(located.vectors)
        if located.parses_dir:
            values["parses_dir"] = located.parses_dir
        if located.inputs.encoder:
            values["inputs"] = {**values["inputs"], "encoder": located.inputs.encoder}
    write_atomically(target, _text(configuration, values))
    if lacking:
        print(f"wrote {target}, but some files that it names were not found: {lacking}")
        print(f"enter their paths or delete them, then run: graphsent config check {target}")
        return
    print(f"wrote {target}: graphsent train --config {target} --out RUN")


def _values(configuration: Configuration, *, brief: bool) -> dict[str, Any]:
    """The settings, including defaults unless ``brief``."""
    if brief:
        return dict(configuration.config)
    return completed(configuration.run_config()).to_dict()


def _text(configuration: Configuration, values: Mapping[str, Any]) -> str:
    """Settings in YAML, with notes on the configuration as comments."""
    said = [f"{configuration.name}, revision {configuration.revision}"]
    said += [f"settings: {configuration.chosen}"] if configuration.chosen else []
    said += [f"differs from the paper: {each}" for each in configuration.deviations]
    said.append(f"estimated CPU minutes per run: {configuration.minutes:g}")
    comments = "".join(f"# {line}\n" for line in said)
    return comments + to_yaml(values)


def _check(paths: Sequence[str]) -> None:
    """Prints one line per fault; raises a DataError if there are any."""
    total = 0
    for path in paths:
        try:
            settings = read_settings(path)
        except DataError as error:
            print(in_one_line(str(error)), file=sys.stderr)
            total += 1
            continue
        named = (settings.values.get(name) for name in ("task", "model", "parser"))
        import_from_here(*(name for name in named if isinstance(name, str)))
        faults = config_faults(settings)
        total += len(faults)
        for fault in faults:
            place = f"{path}:{fault.line}" if fault.line else path
            print(f"{place}: {in_one_line(fault.message)}", file=sys.stderr)
        if not faults:
            print(f"{path}: no errors")
    if total:
        raise DataError(f"{counted(total, 'error')}, see above")
