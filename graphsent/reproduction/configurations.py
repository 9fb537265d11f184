"""Run configurations shipped with the package, in families.

A family is a YAML file::

    revision: 1                    # increased when a code change affects the family's figures
    chosen: how the settings were chosen
    deviations: [how they differ from the paper's]
    config: {model: treelstm}      # settings common to all, as in a run's config.yaml
    configurations:
      treelstm-sst5:
        minutes: 1.5               # CPU time of a run on one thread
        config: {task: sst5}
      treelstm-sst5-balanced:
        of: treelstm-sst5          # an earlier one, whose settings are inherited
        config: {trees: balanced}

A configuration's ``chosen`` is not inherited: by default it names the configuration whose settings
are. Its ``deviations`` are added to the inherited ones. A deviation of the parses, ``{parses: how
they differ}``, is left out where artificial trees replace them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from graphsent._names import message_of, unknown
from graphsent.errors import DataError
from graphsent.tasks import get_task
from graphsent.training import RunConfig
from graphsent.training.building import completed
from graphsent.training.config_file import from_yaml

__all__ = ["Configuration", "check_names", "different_settings", "read_family", "read_yaml"]

_OF_FAMILY = ("revision", "chosen", "deviations", "config", "configurations")
_OF_ONE = ("of", "minutes", "chosen", "deviations", "config")
_FAST_SHARE = 4  # of the epochs


@dataclass(frozen=True)
class Configuration:
    """One configuration, complete except for the seed or fold.

    Attributes:
        name: Its name.
        config: The explicit settings, as accepted by :meth:`RunConfig.from_dict`; word-vector files
            are given by name only.
        revision: Revision of its family. It is part of the key of finished runs, so increasing it
            invalidates all of them.
        minutes: Estimated CPU time of a run.
        deviations: How it differs from the paper.
        chosen: How its settings were chosen.
    """

    name: str
    config: Mapping[str, Any] = field(hash=False)
    revision: int
    minutes: float
    deviations: tuple[str, ...] = ()
    chosen: str = ""

    @property
    def num_folds(self) -> int:
        """Number of folds of its task; 0 for a task with fixed splits."""
        return get_task(self.config["task"], **self.config.get("task_options", {})).num_folds

    @property
    def digest(self) -> str:
        """SHA-256 of its explicit settings and revision."""
        said = json.dumps([self.config, self.revision], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()

    def run_config(self) -> RunConfig:
        """Its settings, completed with the defaults of the package.

        Raises:
            DataError: A setting has an unknown name or a value of the wrong type.
            TrainingError: A training option is out of range.
        """
        return RunConfig.from_dict(self.config)

    def fast(self) -> Configuration:
        """A reduced version, with a quarter of the epochs, rounded up."""
        epochs = math.ceil(self.run_config().training.epochs / _FAST_SHARE)
        config = _merged(self.config, {"training": {"epochs": epochs}})
        return replace(self, config=config, minutes=self.minutes / _FAST_SHARE)


def different_settings(
    first: Configuration, second: Configuration
) -> dict[str, tuple[object, object]]:
    """The settings that two configurations share by name, but not by value.

    Raises:
        DataError: As in :meth:`Configuration.run_config`.
    """
    left, right = (_flat(completed(each.run_config())) for each in (first, second))
    same = ("model", "seed")  # that is what is compared, and what every run has of its own
    return {
        name: (left[name], right[name])
        for name in left
        if name in right and name not in same and left[name] != right[name]
    }


def _flat(config: RunConfig) -> dict[str, Any]:
    """Settings by their last name."""
    settings = {**asdict(config), "tree_kind": config.input_kind, "trees": config.trees or "parsed"}
    groups = [value for value in settings.values() if isinstance(value, Mapping)]
    alone = {name: value for name, value in settings.items() if not isinstance(value, Mapping)}
    return {name: value for group in [alone, *groups] for name, value in group.items()}


def read_family(path: Path) -> list[Configuration]:
    """The configurations of a file.

    Raises:
        DataError: The file does not have the format above.
    """
    family = read_yaml(path, _OF_FAMILY)
    try:
        found = _family(family, path)
        return [replace(each, deviations=tuple(_texts(each))) for each in found.values()]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: expected configurations: {error!r}") from None


def _family(family: Mapping[str, Any], path: Path) -> dict[str, Configuration]:
    """The configurations by name, with their deviations as in the file."""
    found: dict[str, Configuration] = {}
    common = Configuration(
        path.stem,
        family.get("config", {}),
        family.get("revision", 1),
        0.0,
        tuple(family.get("deviations", ())),
        family.get("chosen", ""),
    )
    for name, values in (family.get("configurations") or {}).items():
        check_names(values, _OF_ONE, f"{path}: {name}")
        base = values.get("of")
        if base is not None and base not in found:
            raise DataError(f"{path}: {name}: {unknown('configuration', base, found)}")
        start = found[base] if base else common
        found[name] = replace(
            start,
            name=name,
            config=_merged(start.config, values.get("config", {})),
            minutes=float(values.get("minutes", start.minutes)),
            deviations=(*start.deviations, *values.get("deviations", ())),
            chosen=values.get("chosen", f"as for `{base}`" if base else start.chosen),
        )
        if found[name].minutes <= 0:
            raise DataError(f"{path}: {name}: expected the minutes of a run, got none")
    return found


def _texts(configuration: Configuration) -> Iterator[str]:
    """The texts of the deviations that apply."""
    each: Any
    for each in configuration.deviations:
        if isinstance(each, str):
            yield each
        elif not configuration.config.get("trees"):
            yield each["parses"]


def read_yaml(path: Path, names: tuple[str, ...]) -> dict[str, Any]:
    """Reads a mapping from a YAML file.

    Args:
        path: The file.
        names: The allowed keys.

    Raises:
        DataError: It cannot be read, or is not such a mapping.
    """
    try:
        values = from_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot read it: {error.strerror}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise DataError(f"{path}: expected YAML: {message_of(error)}") from None
    check_names(values, names, str(path))
    return values


def check_names(values: Any, names: tuple[str, ...], where: str) -> None:
    """Checks that a value read from YAML is a mapping with known keys.

    Args:
        values: The value.
        names: The allowed keys.
        where: Named in errors.

    Raises:
        DataError: It is not.
    """
    if not isinstance(values, Mapping):
        raise DataError(f"{where}: expected names with values, got {values!r:.80}")
    for name in values:
        if name not in names:
            raise DataError(f"{where}: {unknown('entry', str(name), names)}")


def _merged(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Merges two mappings recursively; values of ``more`` take precedence."""
    merged = {**base, **more}
    for name, value in more.items():
        if isinstance(value, Mapping) and isinstance(base.get(name), Mapping):
            merged[name] = _merged(base[name], value)
    return merged
