"""Conversion of examples to the arrays of a shard."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from graphsent.errors import DataError
from graphsent.models.batches.words import flat_units
from graphsent.pairs import TreePair
from graphsent.sentences import Sentence
from graphsent.shards.mapped import smallest
from graphsent.shards.shard import KEPT, Schema, as_bytes, offsets_of
from graphsent.shards.sizes import size_of
from graphsent.trees import DependencyTree, Tree
from graphsent.trees.structure import concatenated, depths

__all__ = ["ShardWriter"]

_CHUNK = 256  # examples prepared together
_KINDS = {Sentence: "sentence", Tree: "constituency", DependencyTree: "dependency"}


class ShardWriter:
    """Builds the arrays of one shard after another, and numbers words and labels.

    Args:
        prepare: Collates examples, and thereby caches on each tree what is derived from it.
        words: The words of earlier shards.
        labels: The labels of earlier shards.
        schema: The structure of their examples; None if there are none.

    Attributes:
        words: Word -> its number.
        labels: Label -> its number.
    """

    def __init__(
        self,
        prepare: Callable[[Sequence[Any]], object],
        words: Iterable[str] = (),
        labels: Iterable[str] = (),
        schema: Schema | None = None,
    ) -> None:
        self._prepare = prepare
        self.words = {word: number for number, word in enumerate(words)}
        self.labels = {label: number for number, label in enumerate(labels)}
        self._schema = schema

    def arrays(self, examples: Iterator[Any]) -> tuple[Schema, dict[str, np.ndarray]] | None:
        """Builds the arrays of a shard, by name: see :class:`~graphsent.shards.shard.Shard`.

        Args:
            examples: The examples of the shard; only a few are in memory at a time.

        Returns:
            The schema of the examples, and the arrays; None if there are no examples.

        Raises:
            DataError: They are of several kinds, also in several shards, or of a kind that shards
                cannot hold.
        """
        num_words, num_labels = len(self.words), len(self.labels)
        chunks = []
        while chunk := list(islice(examples, _CHUNK)):
            self._prepare(chunk)
            found, arrays = self._chunk(chunk)
            if self._schema not in (None, found):
                raise DataError(f"expected examples of one kind, got {found} after {self._schema}")
            self._schema = found
            chunks.append(arrays)
        if self._schema is None or not chunks:
            return None
        joined = {
            name: np.concatenate([chunk[name] for chunk in chunks], axis=-1) for name in chunks[0]
        }
        joined["offsets"] = smallest(offsets_of(joined.pop("lengths")))
        joined["new_words"] = as_bytes(list(self.words)[num_words:])
        joined["new_labels"] = as_bytes(list(self.labels)[num_labels:])
        return self._schema, joined

    def _chunk(self, examples: Sequence[Any]) -> tuple[Schema, dict[str, np.ndarray]]:
        """The arrays of some examples; the last dimension grows with the number of examples."""
        is_pair = isinstance(examples[0], TreePair)
        units = list(chain.from_iterable(each[:2] for each in examples)) if is_pair else examples
        kind = _kind_of(units)
        depth = _depths(units)
        shaped = [_shaped(unit) for unit in units]
        kept = _kept(shaped)
        words = [unit.words for unit in shaped]
        labels = [unit.labels for unit in shaped]
        lengths = [_lengths(words), _lengths(labels)]
        arrays = {
            "words": smallest(_numbers(words, self.words)),
            "labels": smallest(_numbers(labels, self.labels)),
            "parents": smallest(_parents(shaped)),
            "sizes": np.array([size_of(each) for each in examples], np.int32),
            "depths": depth.reshape(-1, 2).max(axis=1) if is_pair else depth,
            "rests": smallest(_numbers([_rests(examples)] if is_pair else [], self.labels)),
        }
        for name, values in kept.items():
            for part in KEPT[name]._fields:
                found = [getattr(value, part) for value in values]
                lengths.append(np.array([each.shape[1] for each in found]))
                arrays[f"{name}.{part}"] = smallest(np.concatenate(found, axis=1))
        arrays["lengths"] = np.stack(lengths)
        return Schema(kind, is_pair, tuple(kept), tuple(_forms(units[0]))), arrays


def _kind_of(units: Sequence[Any]) -> str:
    classes = {type(unit) for unit in units}
    kind = _KINDS.get(type(units[0])) if len(classes) == 1 else None
    if kind is None:
        found = " and ".join(sorted(cls.__name__ for cls in classes))
        raise DataError(f"expected sentences, trees of one kind, or pairs of them, got {found}")
    return kind


def _forms(unit: Any) -> dict[str, Tree | None]:
    """The forms of a tree requested by a model, by name; None for the tree itself."""
    kept = unit.derived.items()
    return {name: form for name, form in kept if form is None or isinstance(form, Tree)}


def _shaped(unit: Any) -> Any:
    """The form of the tree that the model has collated, or the tree itself."""
    return next((form for form in _forms(unit).values() if form is not None), unit)


def _kept(shaped: Sequence[Any]) -> dict[str, list[Any]]:
    """The derived objects to store with trees, by name; for sentences they are computed."""
    if isinstance(shaped[0], Sentence):
        return {"units": flat_units(shaped)}
    names = [name for name in KEPT if name in shaped[0].derived]
    return {name: [tree.derived[name] for tree in shaped] for name in names}


def _lengths(parts: Sequence[Sequence[Any]]) -> np.ndarray:
    return np.array([len(part) for part in parts], np.int64)


def _numbers(parts: Sequence[Sequence[str]], numbers: dict[str, int]) -> np.ndarray:
    """The number of each string; new strings get the next free numbers."""
    return np.array(
        [numbers.setdefault(each, len(numbers)) for part in parts for each in part], np.int64
    )


def _parents(units: Sequence[Any]) -> np.ndarray:
    if isinstance(units[0], Sentence):
        return np.zeros(0, np.int64)
    return np.concatenate([_parents_of(unit) for unit in units])


def _parents_of(unit: Tree | DependencyTree) -> np.ndarray:
    return unit.parents if isinstance(unit, Tree) else unit.heads


def _depths(units: Sequence[Any]) -> np.ndarray:
    """Levels of each tree, or words of each sentence, vectorized; see ``depth_of``."""
    if isinstance(units[0], Sentence):
        return np.array([len(unit.words) for unit in units], np.int32)
    forest, _, starts = concatenated([_parents_of(unit) for unit in units])
    return (np.maximum.reduceat(depths(forest), starts) + 1).astype(np.int32)


def _rests(pairs: Sequence[TreePair]) -> list[str]:
    """The other fields of pairs, besides their sentences, as JSON."""
    return [json.dumps(pair[2:]) for pair in pairs]
