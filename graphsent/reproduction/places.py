"""Locations of the data on this machine, and their checksums."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphsent._files import sha256
from graphsent.contextual import encoder_sha256
from graphsent.errors import DataError
from graphsent.tasks import SPLITS, get_task, resolve_data_dir
from graphsent.tasks.corpus import CorpusSource
from graphsent.tasks.data_dir import embedded_data_dir
from graphsent.training import RunConfig

__all__ = ["Places"]

_VECTORS = "GRAPHSENT_VECTORS"
_FOLDER = "vectors"
_ENCODER = "GRAPHSENT_ENCODER"


@dataclass(frozen=True)
class Places:
    """The directories that runs read from.

    Attributes:
        data_dir: Directory of corpora; None for the default one.
        parses_dir: Directory of parse trees that the corpora lack; None for the default one.
        vectors_dir: Directory of word vectors; by default ``$GRAPHSENT_VECTORS``, or ``vectors`` in
            or beside the data directory.
        encoder: Directory of the contextual encoder; by default ``$GRAPHSENT_ENCODER``.
    """

    data_dir: str | None = None
    parses_dir: str | None = None
    vectors_dir: str | None = None
    encoder: str | None = None

    @property
    def is_embedded(self) -> bool:
        """Whether the corpora are the synthetic ones of the repository."""
        data_dir = resolve_data_dir(self.data_dir).resolve()
        try:
            return data_dir == embedded_data_dir().resolve()
        except DataError:  # there are none
            return False

    def locate(self, config: RunConfig) -> RunConfig:
        """Fills in the paths of a configuration's files.

        Raises:
            DataError: A file or directory does not exist.
        """
        vectors = tuple(str(self._vectors() / name) for name in config.vectors)
        for path in vectors:
            if not os.path.isfile(path):
                raise DataError(f"word vectors: {path} does not exist")
        inputs = config.inputs
        if inputs.encoder:
            inputs = replace(inputs, encoder=self._encoder(inputs.encoder))
        data_dir = str(resolve_data_dir(self.data_dir).resolve())
        return replace(
            config, data_dir=data_dir, parses_dir=self.parses_dir, vectors=vectors, inputs=inputs
        )

    def checksums(self, config: RunConfig) -> dict[str, Any]:
        """SHA-256 of all files that a configuration reads.

        Args:
            config: A configuration returned by :meth:`locate`.

        Raises:
            DataError: The corpus or its parses do not exist.
        """
        options = {name: v for name, v in config.task_options.items() if name != "fold"}
        found: dict[str, Any] = _corpus(
            config.task,
            tuple(sorted(options.items())),
            config.data_dir,
            config.input_kind,
            config.parses_dir,
            config.trees,
        )
        if config.vectors:
            found = {**found, "vectors": {Path(v).name: _digest(v) for v in config.vectors}}
        if config.inputs.encoder:
            found = {**found, "encoder": encoder_sha256(Path(config.inputs.encoder))}
        return found

    def _vectors(self) -> Path:
        given = self.vectors_dir or os.environ.get(_VECTORS)
        data_dir = resolve_data_dir(self.data_dir).resolve()
        places = [data_dir / _FOLDER, data_dir.parent / _FOLDER]
        if given:
            places = [Path(os.path.expanduser(given))]
        return _first(places, f"no directory of word vectors (--vectors-dir, or {_VECTORS})")

    def _encoder(self, name: str) -> str:
        given = self.encoder or os.environ.get(_ENCODER)
        if not given:
            raise DataError(f"no encoder {name!r}: set --encoder DIR or {_ENCODER}")
        return str(_first([Path(os.path.expanduser(given))], f"no encoder {name!r}"))


def _first(places: Sequence[Path], otherwise: str) -> Path:
    for place in places:
        if place.is_dir():
            return place.resolve()
    raise DataError(f"{otherwise}: expected one at {' or '.join(map(str, places))}")


@functools.cache
def _corpus(
    task: str,
    options: tuple[tuple[str, Any], ...],
    data_dir: str,
    tree_kind: str,
    parses_dir: str | None,
    trees: str | None,
) -> dict[str, Any]:
    found = get_task(task, **dict(options))
    if found.finds_labels and not found.label_names:
        found.label_names = ("unread",)  # only the checksums of its files are needed
    source = found.stream(data_dir, tree_kind=tree_kind, parses_dir=parses_dir, trees=trees).source
    assert isinstance(source, CorpusSource)
    sums = {split: source.digests(split) for split in SPLITS}
    return {"corpus": source.corpus.name, "files": sums}


@functools.cache
def _digest(path: str) -> str:
    return sha256(Path(path))
