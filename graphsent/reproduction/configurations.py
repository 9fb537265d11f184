"""What is run: configurations of runs that are shipped with the package, in families.

A file of a family, in YAML::

    revision: 1                    # raised when a change of the code moves the family's figures
    chosen: how the settings were found
    deviations: [how they differ from the paper's]
    config: {model: treelstm}      # settings that all have, as in a run's config.yaml
    configurations:
      treelstm-sst5:
        minutes: 1.5               # of the CPU, a run with one thread
        config: {task: sst5}
      treelstm-sst5-balanced:
        of: treelstm-sst5          # an earlier one, whose settings it takes over
        config: {trees: balanced}

``chosen`` of a configuration stands in place of the family's, ``deviations`` are added to those
that it takes over.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from graphsent._names import unknown
from graphsent.errors import DataError
from graphsent.tasks import get_task
from graphsent.training import RunConfig

__all__ = ["Configuration", "read_family", "read_yaml"]

_OF_FAMILY = ("revision", "chosen", "deviations", "config", "configurations")
_OF_ONE = ("of", "minutes", "chosen", "deviations", "config")
_FAST_SHARE = 4  # of the epochs


@dataclass(frozen=True)
class Configuration:
    """One configuration, complete but for its seed or fold.

    Attributes:
        name: Its name.
        config: The settings that are said of it, as :meth:`RunConfig.from_dict` takes them; files
            of word vectors by name alone.
        revision: Of its family. It belongs to the key of finished runs, so raising it has them all
            made anew.
        minutes: Estimate of the CPU time of a run.
        deviations: How it differs from what its paper did.
        chosen: How its settings were found.
    """

    name: str
    config: Mapping[str, Any] = field(hash=False)
    revision: int
    minutes: float
    deviations: tuple[str, ...] = ()
    chosen: str = ""

    @property
    def num_folds(self) -> int:
        """How many folds its task has; 0 for a task with splits."""
        return get_task(self.config["task"], **self.config.get("task_options", {})).num_folds

    @property
    def digest(self) -> str:
        """SHA-256 of what is said of it: settings and revision."""
        said = json.dumps([self.config, self.revision], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()

    def run_config(self) -> RunConfig:
        """Its settings, with the defaults of the package for what it does not say.

        Raises:
            DataError: A setting has no valid name or type.
            TrainingError: A training option is out of range.
        """
        return RunConfig.from_dict(self.config)

    def fast(self) -> Configuration:
        """The same with a quarter of the epochs, at least one."""
        epochs = max(1, math.ceil(self.run_config().training.epochs / _FAST_SHARE))
        config = _merged(self.config, {"training": {"epochs": epochs}})
        return replace(self, config=config, minutes=self.minutes / _FAST_SHARE)


def read_family(path: Path) -> list[Configuration]:
    """The configurations of a file.

    Raises:
        DataError: The file is not of the form above.
    """
    family = read_yaml(path, _OF_FAMILY)
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
        _check_names(values, _OF_ONE, f"{path}: {name}")
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
            chosen=values.get("chosen", start.chosen),
        )
        if found[name].minutes <= 0:
            raise DataError(f"{path}: {name}: expected the minutes of a run, got none")
    return list(found.values())


def read_yaml(path: Path, names: tuple[str, ...]) -> dict[str, Any]:
    """A mapping from a file of YAML.

    Args:
        path: The file.
        names: Those that may be in it.

    Raises:
        DataError: It cannot be read, or holds something else.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot read it: {error.strerror}") from None
    except (yaml.YAMLError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{path}: expected YAML: {reason}") from None
    _check_names(values, names, str(path))
    return values


def _check_names(values: Any, names: tuple[str, ...], where: str) -> None:
    if not isinstance(values, Mapping):
        raise DataError(f"{where}: expected names with values, got {values!r:.80}")
    for name in values:
        if name not in names:
            raise DataError(f"{where}: {unknown('entry', str(name), names)}")


def _merged(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of both; those of ``more`` count, also inside of settings with parts."""
    merged = {**base, **more}
    for name, value in more.items():
        if isinstance(value, Mapping) and isinstance(base.get(name), Mapping):
            merged[name] = _merged(base[name], value)
    return merged
