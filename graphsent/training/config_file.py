"""Settings in YAML, and the line of each one in a file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from graphsent._names import message_of
from graphsent.errors import DataError

__all__ = ["Settings", "from_yaml", "read_settings", "to_yaml"]

_MOST = 10_000


class _Loader(yaml.SafeLoader):
    """Reads 1e-3 as a number, as YAML 1.2 does: in YAML 1.1 only 1.0e-3 is one."""


class _Dumper(yaml.SafeDumper):
    """Quotes strings that :class:`_Loader` would read as numbers."""


for _each in (_Loader, _Dumper):
    _each.add_implicit_resolver(
        "tag:yaml.org,2002:float",
        re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
        list("-+.0123456789"),
    )


def from_yaml(text: str) -> Any:
    """The values in a YAML document.

    Raises:
        yaml.YAMLError: The text is not YAML.
        ValueError: A date does not exist.
    """
    return yaml.load(text, _Loader)


def to_yaml(values: Any) -> str:
    """Plain values as a YAML document, in their order.

    Raises:
        yaml.YAMLError: One of them is not a plain value.
    """
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


class Settings(NamedTuple):
    """The unchecked content of a settings file."""

    values: dict[str, Any]
    node: Any  # of YAML, with line numbers

    def places(self) -> Iterator[tuple[tuple[str, ...], int]]:
        """The path of names to each setting, and its line, from 1."""
        for key, value in self.node.value:
            name = str(key.value)
            yield (name,), key.start_mark.line + 1
            for below, _ in value.value if isinstance(value, yaml.MappingNode) else ():
                yield (name, str(below.value)), below.start_mark.line + 1

    def set_twice(self) -> Iterator[tuple[int, str]]:
        """The line of each setting that was set before, and a message about it."""
        lines: dict[tuple[str, ...], int] = {}
        for place, line in self.places():
            if place in lines:
                yield line, f"{place[-1]} is set twice, first in line {lines[place]}"
            lines.setdefault(place, line)


def read_settings(path: str | os.PathLike[str]) -> Settings:
    """Reads a settings file.

    Raises:
        DataError: The file cannot be read, or is not a YAML mapping.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        values, node = from_yaml(text), yaml.compose(text, _Loader)
        number = _number_of(node, {})
    except OSError as error:
        raise DataError(f"{path}: cannot read the configuration: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: expected a configuration in YAML: {message_of(error)}") from None
    if not isinstance(values, dict):
        raise DataError(f"{path}: expected a configuration, got {type(values).__name__}")
    if number > _MOST:  # nested aliases grow exponentially
        raise DataError(f"{path}: expected at most {_MOST:,} settings, got {number:,}")
    return Settings({str(name): value for name, value in values.items()}, node)


def _number_of(node: Any, known: dict[int, int]) -> int:
    """The number of values in a YAML node, counting a node again at each of its aliases."""
    if isinstance(node, yaml.CollectionNode) and id(node) not in known:
        parts = (
            chain.from_iterable(node.value) if isinstance(node, yaml.MappingNode) else node.value
        )
        known[id(node)] = sum(_number_of(each, known) for each in parts)
    return known.get(id(node), 1)
