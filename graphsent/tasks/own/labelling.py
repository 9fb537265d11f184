"""Examples as a model reads them: sentences and trees labelled with class indices or scores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from graphsent.errors import DataError
from graphsent.sentences import Sentence
from graphsent.tasks.corpus import TREE_KINDS, WORDS
from graphsent.tasks.own.examples import Content
from graphsent.trees import DependencyTree, Tree

__all__ = ["kind_of", "labelled"]


def kind_of(content: Content) -> str:
    """The kind of a content, one of :data:`graphsent.tasks.INPUT_KINDS`."""
    return {Tree: TREE_KINDS[0], DependencyTree: TREE_KINDS[1]}.get(type(content), WORDS)


def labelled(
    content: Content,
    label: str,
    code: Callable[[str], str],
    tree_kind: str,
    path: Path,
    *,
    is_pair: bool = False,
) -> Sentence | Tree | DependencyTree:
    """A content as a model reads it.

    Args:
        content: The words of a sentence, or its tree.
        label: The class index or score of the sentence.
        code: Maps a phrase label to its class index or score, ``""`` if it is not a known label.
        tree_kind: What the model reads.
        path: The file, for errors.
        is_pair: Whether the content is half of a pair.

    Raises:
        DataError: The model reads trees of another kind.
    """
    _check_kind(kind_of(content), tree_kind, path, is_pair=is_pair)
    assert not isinstance(content, str)
    labels = list(map(code, content.labels))
    if isinstance(content, Sentence) or (tree_kind == WORDS and not any(labels)):
        return Sentence(content.words, label)
    labels[content.root] = label
    return content.replace(labels=labels)


def _check_kind(kind: str, tree_kind: str, path: Path, *, is_pair: bool) -> None:
    if tree_kind in (WORDS, kind):
        return
    if kind == WORDS:
        other = "sequence-relatedness" if is_pair else "kimcnn"
        raise DataError(
            f"{path} holds sentences, but the model reads {tree_kind} trees: add --parser NAME, "
            "--trees balanced, or trees of the sentences (--train-trees FILE; for evaluate, "
            f"--test-trees FILE), or use a model of words, such as {other}"
        )
    # Not "holds": the trees may come from a separate file.
    raise DataError(
        f"the trees of {path} are {kind} trees, but the model reads {tree_kind} trees: add "
        f"--tree-kind {kind} if it can read these, or use another model"
    )
