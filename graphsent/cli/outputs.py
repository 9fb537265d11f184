"""Output formats of predictions: text, JSON, trees, pictures, and a page."""

from __future__ import annotations

import json
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from graphsent._files import atomic_path
from graphsent._numbers import rounded
from graphsent.cli.streams import Answered
from graphsent.cli.usage import UsageError, counted
from graphsent.drawing import write_page
from graphsent.errors import FailedError, GraphsentError
from graphsent.models import Model, PairPrediction, Prediction, RankedParses
from graphsent.trees import DependencyTree, relabel, to_conllu
from graphsent.trees.escapes import as_label

__all__ = ["DRAWN", "Output", "json_of", "output_of", "text_stream"]

DRAWN = ("html", "png", "svg")


class Output(ABC):
    """Writes answers one by one."""

    @abstractmethod
    def add(self, each: Answered) -> None:
        """Writes an answer, or an error in its place."""

    def close(self) -> None:  # noqa: B027
        """Writes the end of the output, which most formats do not have."""


@contextmanager
def output_of(form: str, path: str | None, in_full: Model | None = None) -> Iterator[Output]:
    """An output in some format.

    Args:
        form: The format.
        path: The file, replaced once all is written; None for standard output.
        in_full: The model, to print answers in full; None for one line per answer.

    Raises:
        UsageError: The format needs a file, but there is none or its suffix is another.
    """
    if form in DRAWN:
        if path is None or Path(path).suffix.lower() != f".{form}":
            raise UsageError(f"--format {form} needs --out FILE.{form}")
        output: Output = _Page(path) if form == "html" else _Pictures(Path(path))
        yield output
        output.close()
        return
    with text_stream(path) as stream:
        output = _FORMS[form](stream) if in_full is None else _FullText(stream, in_full)
        try:
            yield output
        except GraphsentError:  # complete what is already on standard output
            output.close()
            raise
        output.close()


@contextmanager
def text_stream(path: str | None) -> Iterator[TextIO]:
    """Standard output, or a file that is replaced once all is written.

    Raises:
        FailedError: Standard output is closed (`>&-`): the results would be lost.
    """
    if path is None:
        closed = sys.__stdout__ is None  # then graphsent.cli.main opens the null device
        if closed and getattr(sys.stdout, "name", "") == os.devnull:
            raise FailedError("standard output is closed: name a file by --out")
        yield sys.stdout
        return
    with (
        atomic_path(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as stream,
    ):
        yield stream


class _Text(Output):
    """One line per answer: class or score, probability, and sentences; or the best parse."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def add(self, each: Answered) -> None:
        print("" if each.errors else self.line(each), file=self.stream)

    def line(self, each: Answered) -> str:
        """The line of a valid input."""
        if isinstance(each.answer, RankedParses):
            return str(each.answer.tree)
        sentences = [" ".join(part.words) for part in each.input.sentences]
        return "\t".join((*_verdict(each.answer), *sentences))


class _FullText(_Text):
    """A few lines per answer, with the probabilities of all classes and the unknown words."""

    def __init__(self, stream: TextIO, model: Model) -> None:
        super().__init__(stream)
        self._model = model

    def line(self, each: Answered) -> str:
        """The lines of a valid input."""
        lines = [super().line(each)]
        if isinstance(each.answer, Prediction | PairPrediction):
            width = max(map(len, each.answer.label_names))
            lines += [f"  {name:{width}}  {share:.3f}" for name, share in each.answer.ranked]
        unknown = dict.fromkeys(self._model.unknown_words(each.input.words))
        lines += [f"  unknown words: {' '.join(unknown)}"] * bool(unknown)
        return "\n".join(lines)


class _JsonLines(_Text):
    """One JSON object per line."""

    def add(self, each: Answered) -> None:
        print(json.dumps(json_of(each), ensure_ascii=False), file=self.stream)


class _JsonArray(_Text):
    """One JSON array of objects."""

    _before = "[\n"

    def add(self, each: Answered) -> None:
        self.stream.write(self._before + json.dumps(json_of(each), ensure_ascii=False))
        self._before = ",\n"

    def close(self) -> None:
        """Ends the array."""
        self.stream.write("[]\n" if self._before == "[\n" else "\n]\n")


class _Trees(_Text):
    """The trees, labelled with predicted classes."""

    def line(self, each: Answered) -> str:
        """The tree of a valid input."""
        tree = each.answer.to_tree(names=True)
        return to_conllu(tree) if isinstance(tree, DependencyTree) else str(relabel(tree, as_label))


class _Pictures(Output):
    """One picture per answer: in the given file, then in numbered files beside it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._number = 0
        self._written: list[Path] = []

    def add(self, each: Answered) -> None:
        self._number += 1
        number = f"-{self._number}" if self._number > 1 else ""
        path = self._path.with_stem(f"{self._path.stem}{number}")
        if each.errors:
            _remove_earlier(path)
            return
        each.answer.draw(path)
        self._written.append(path)

    def close(self) -> None:
        """Prints what was written."""
        if not self._number:
            _remove_earlier(self._path)
        match self._written:
            case [path]:
                print(f"wrote {path}")
            case [first, *_, last]:
                print(f"wrote {len(self._written):,} pictures: {first} to {last}")


def _remove_earlier(path: Path) -> None:
    """Removes a file of an earlier command, in whose place there is none now."""
    if path.is_file():
        path.unlink()


class _Page(Output):
    """One page of all answers."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._predictions: list[Prediction] = []

    def add(self, each: Answered) -> None:
        if not each.errors:
            self._predictions.append(each.answer)

    def close(self) -> None:
        """Writes the page; without predictions there is none."""
        if self._predictions:
            count = write_page(self._predictions, self._path)
            print(f"wrote {self._path}: {counted(count, 'sentence')}")
        else:
            _remove_earlier(Path(self._path))


_FORMS = {
    "text": _Text,
    "jsonl": _JsonLines,
    "json": _JsonArray,
    "brackets": _Trees,
    "trees": _Trees,
}


def json_of(each: Answered) -> dict[str, Any]:
    """An answer, or its errors, as JSON values."""
    if each.errors:
        return {"line": each.input.line, "error": "; ".join(each.errors)}
    if isinstance(each.answer, Prediction | PairPrediction | RankedParses):
        return each.answer.to_dict()
    texts = [" ".join(part.words) for part in each.input.sentences]
    names = ("first", "second") if len(texts) > 1 else ("text",)
    return {"score": float(rounded(float(each.answer), 6)), **dict(zip(names, texts, strict=True))}


def _verdict(answer: Any) -> tuple[str, ...]:
    if isinstance(answer, Prediction):
        return answer.root_name, f"{answer.root_probability:.3f}"
    if isinstance(answer, PairPrediction):
        return answer.name, f"{answer.probabilities[answer.label]:.3f}"
    return (rounded(float(answer), 3),)
