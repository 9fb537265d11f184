"""Predictions as a self-contained HTML page: no server, no network, no other file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Iterable, Sequence
from importlib.resources import files
from string import Template
from typing import Any, Protocol

import numpy as np

from graphsent._files import atomic_path
from graphsent.drawing.palette import ClassColor, class_colors
from graphsent.drawing.pictures import shade
from graphsent.errors import DataError
from graphsent.trees.escapes import as_label

__all__ = ["ClassPrediction", "write_page"]

_DIGITS = 4  # of probabilities
_SHADES = 21  # colours of the confusion matrix
# Inside a script element, "<" could end it, or begin a comment; U+2028 and U+2029 end lines.
_ESCAPED = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


class ClassPrediction(Protocol):
    """The part of :class:`graphsent.models.Prediction` that the page needs.

    Attributes:
        tree: A constituency or dependency tree, or a sentence.
        probabilities: (num_nodes, num_classes).
        label_names: Names of the classes by index.
        ordered_classes: Whether the classes are ordered from low to high.
    """

    @property
    def tree(self) -> Any: ...  # noqa: D102
    @property
    def probabilities(self) -> np.ndarray: ...  # noqa: D102
    @property
    def label_names(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def ordered_classes(self) -> bool: ...  # noqa: D102


def write_page(
    predictions: Iterable[ClassPrediction],
    path: str | os.PathLike[str],
    *,
    title: str = "Predictions",
    numbered: bool = False,
) -> int:
    """Writes predictions as a self-contained HTML page.

    The page lists the sentences, with search, filters (all, mistakes, sentences with a wrong
    phrase, by predicted and by gold class) and sorting by confidence, and shows the tree of the
    selected sentence with its classes; hovering over a node shows the class probabilities. Gold
    labels are those of the trees: names of classes, or else their numbers; misclassified nodes are
    framed.

    All data is inserted as text, never as markup, and the content security policy allows no other
    script than the page's own.

    Args:
        predictions: Predictions of one model, from ``model.predict``; all are held in memory.
        path: File to write; an existing file is replaced atomically.
        title: Title of the page.
        numbered: Whether labels are numbers even where a class has such a name, as in the splits
            that a task loads.

    Returns:
        The number of predictions.

    Raises:
        DataError: There are no predictions, or they are not predictions of the same classes.
    """
    items, names, ordered = [], None, True
    for prediction in predictions:
        if not hasattr(prediction, "label_names") or not hasattr(prediction, "tree"):
            raise DataError(f"expected a classification of a sentence, got {prediction!r:.80}")
        names, ordered = names or tuple(prediction.label_names), prediction.ordered_classes
        if tuple(prediction.label_names) != names:
            raise DataError("expected predictions of one model, got different classes")
        items.append(_item(prediction, numbered=numbered))
    if names is None:
        raise DataError("there are no predictions to show")
    data = {
        "names": names,
        "colors": [_color(each) for each in class_colors(names, [], ordered_classes=ordered)],
        "shades": [_color(shade(step / (_SHADES - 1))) for step in range(_SHADES)],
        "items": items,
    }
    parts = {name: _part(f"page.{name}") for name in ("html", "css", "js")}
    page = Template(parts["html"]).substitute(
        TITLE=html.escape(title),
        STYLE=parts["css"],
        SCRIPT=parts["js"],
        STYLE_HASH=_hash(parts["css"]),
        SCRIPT_HASH=_hash(parts["js"]),
        DATA=json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPED),
    )
    with atomic_path(path) as temporary:
        temporary.write_text(page, encoding="utf-8", errors="surrogatepass", newline="\n")
    return len(items)


def class_numbers(label_names: Sequence[str], *, names: bool = True) -> dict[str, int]:
    """The class of each label that stands for one: its number or, with ``names``, its name.

    Names may be as in bracketed trees, see :func:`~graphsent.trees.escapes.as_label`; exact names
    take precedence.
    """
    found = {str(number): number for number in range(len(label_names))}
    if names:
        found |= {as_label(name): number for number, name in enumerate(label_names)}
        found |= {name: number for number, name in enumerate(label_names)}
    return found


def _item(prediction: ClassPrediction, *, numbered: bool) -> dict[str, Any]:
    """The data of one sentence: parent, position, classes and probabilities of each node."""
    tree = prediction.tree
    if hasattr(tree, "heads"):
        parents, positions = tree.heads, np.arange(tree.num_nodes)
    elif hasattr(tree, "tokens"):
        parents = tree.parents
        positions = np.where([token is None for token in tree.tokens], -1, tree.spans[:, 0])
    else:
        parents, positions = tree.parents, np.full(tree.num_nodes, -1)
    known = class_numbers(prediction.label_names, names=not numbered)
    return {
        "words": list(tree.words),
        "root": tree.root,
        "parents": parents.tolist(),
        "depths": tree.depths.tolist(),
        "spans": tree.spans.tolist(),
        "positions": positions.tolist(),
        "labels": prediction.probabilities.argmax(axis=1).tolist(),
        "gold": [known.get(label, -1) for label in tree.labels],
        "probabilities": prediction.probabilities.astype(float).round(_DIGITS).tolist(),
    }


def _color(color: ClassColor) -> dict[str, str]:
    return {"fill": color.fill, "text": color.text}


def _part(name: str) -> str:
    return (files("graphsent.drawing") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The hash source of an element's content, for the content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
