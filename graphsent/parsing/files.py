"""Writes files of parses batch by batch, and resumes after an interruption."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from graphsent._files import named, write_atomically
from graphsent._locks import locked
from graphsent._unpacking import format_suffix, is_gzipped
from graphsent.errors import DataError, GraphsentError
from graphsent.parsing.errors import UnparsedSentence
from graphsent.parsing.parser import Parser
from graphsent.trees import DependencyTree, bracketed, to_conllu
from graphsent.trees.errors import TreeError
from graphsent.trees.text_files import write_text

__all__ = ["BATCH_SIZE", "Outcome", "TextLine", "partial_path", "write_parses"]

BATCH_SIZE = 256
_STATE, _TREES = "state.json", "trees"
_CHUNK = 1 << 20  # bytes


class TextLine(NamedTuple):
    """A line of input.

    Attributes:
        number: Its number, from 1.
        text: The text to parse.
        label: Its label; None if the input has none.
        error: Why it cannot be parsed, if known in advance.
    """

    number: int
    text: str
    label: str | None = None
    error: GraphsentError | None = None


class Outcome(NamedTuple):
    """Numbers of lines: all, those without a tree, and those parsed by earlier calls."""

    lines: int
    bad: int
    before: int


@dataclass
class _State:
    """The completed part of a file.

    Attributes:
        made_by: Parser, version, kind of trees and form of the file.
        lines: Number of completed input lines.
        bad: Number of these without a tree.
        size: Size of their output in bytes.
        digest: SHA-256 of the completed input lines.
    """

    made_by: dict[str, Any]
    lines: int = 0
    bad: int = 0
    size: int = 0
    digest: str = hashlib.sha256().hexdigest()


def partial_path(path: str | os.PathLike[str]) -> Path:
    """The directory beside a file that holds its completed part until all of it is complete.

    It is beside the target of a link: links such as ``/dev/stdout`` are where nobody may write.
    """
    path = Path(os.path.realpath(path) if os.path.islink(path) else path)
    return path.with_name(f".{path.name}.parsing")


def write_parses(
    path: str | os.PathLike[str],
    lines: Iterable[TextLine],
    parser: Parser,
    *,
    split: bool = False,
    batch_size: int = BATCH_SIZE,
    overwrite: bool = False,
    on_bad: Callable[[int, GraphsentError], None] = lambda number, error: None,
    on_done: Callable[[int], object] = lambda count: None,
) -> Outcome:
    """Parses lines of text to a file, which appears when it is complete.

    Dependency trees are written in CoNLL-U, with ``# sent_id`` (the line number; with ``split``
    also the sentence number, as in ``3.2``), ``# label`` and ``# text``; constituency trees one per
    line, after their label and a tab if lines have labels. A line without a tree keeps its place:
    its number is missing from the ids, or its line holds no tree.

    After every batch, the completed part is saved beside the file. The next call with the same
    arguments resumes from it.

    Args:
        path: The file; gzipped if named ``*.gz``. CoNLL-U files are named ``*.conllu``.
        lines: The input.
        parser: The parser.
        split: Whether to split lines into sentences, each of which gets a tree.
        batch_size: Number of lines parsed at once.
        overwrite: Whether to discard the completed part of an earlier call.
        on_bad: Called with the number of a line that has no tree, and the reason.
        on_done: Called with the number of lines that a batch completes.

    Raises:
        DataError: The completed part is of another parser or other lines, or another process is
            writing the file; or its name does not suit the kind of trees.
        ParserError: The parser returns something other than trees of its kind.
        ParserFailed: The parser cannot work at all.
    """
    path = Path(path)
    _check_name(path, parser.source.kind)
    busy = DataError(f"{path}: another process is writing it")
    with _part_of(path) as partial, locked(partial, busy), _removed_without_batches(partial):
        if overwrite:
            _clear(partial)
        state = _resumed(partial, {**parser.source._asdict(), "split": split})
        before = state.lines
        items = iter(lines)
        digest = _skipped(items, state, path)
        on_done(before)
        with _appended(partial / _TREES, state.size) as file:
            while batch := list(itertools.islice(items, batch_size)):
                pieces, errors = _parsed(batch, parser, split)
                file.write("".join(pieces).encode())
                file.flush()
                for line in batch:
                    digest.update(_bytes_of(line))
                state.lines += len(batch)
                state.bad += len(errors)
                state.size = file.tell()
                state.digest = digest.hexdigest()
                _save(partial, state)
                for number, error in errors.items():
                    on_bad(number, error)
                on_done(len(batch))
        _finish(path, partial / _TREES)
        shutil.rmtree(partial)
    return Outcome(state.lines, state.bad, before)


def _parsed(
    batch: Sequence[TextLine], parser: Parser, split: bool
) -> tuple[list[str], dict[int, GraphsentError]]:
    """The output of each line, and line number -> why it has no tree."""
    sound = [line for line in batch if line.error is None]
    texts = [line.text for line in sound]
    split_texts = parser.attempt_split(texts) if split else [[text] for text in texts]
    sentences: dict[int, Any] = {line.number: line.error for line in batch}
    sentences.update(zip([line.number for line in sound], split_texts, strict=True))
    known = (each for each in split_texts if not isinstance(each, GraphsentError))
    trees = iter(parser.attempt(sentence for each in known for sentence in each))
    pieces: list[str] = []
    errors: dict[int, GraphsentError] = {}
    for line in batch:
        found = sentences[line.number]
        try:
            if isinstance(found, GraphsentError):
                raise found
            parsed = list(zip(found, itertools.islice(trees, len(found)), strict=True))
            pieces += _entries(line, parsed, parser.source.kind, split)
        except (UnparsedSentence, DataError, TreeError) as error:
            errors[line.number] = error
            pieces.append(_without_tree(line, parser.source.kind))
    return pieces, errors


def _entries(line: TextLine, trees: Sequence[tuple[str, Any]], kind: str, split: bool) -> list[str]:
    """The output for the trees of a line; raises if one of them is an error."""
    entries = []
    for number, (text, tree) in enumerate(trees, start=1):
        if isinstance(tree, GraphsentError):
            raise tree
        name = f"{line.number}.{number}" if split else f"{line.number}"
        if kind == "dependency":
            entries.append(_conllu(tree, line, text, name))
        else:
            entries.append(_labelled(line) + bracketed(tree) + "\n")
        try:
            entries[-1].encode()
        except UnicodeEncodeError as error:
            character = error.object[error.start]
            raise DataError(f"{character!r} in its tree: expected text in UTF-8") from None
    return entries


def _conllu(tree: DependencyTree, line: TextLine, text: str, name: str) -> str:
    metadata = {"sent_id": name, "text": " ".join(text.split())}
    if line.label is not None:
        metadata["label"] = line.label
    return to_conllu(tree.replace(metadata=metadata)) + "\n"


def _without_tree(line: TextLine, kind: str) -> str:
    return "" if kind == "dependency" else _labelled(line) + "\n"


def _labelled(line: TextLine) -> str:
    return "" if line.label is None else f"{line.label}\t"


def _check_name(path: Path, kind: str) -> None:
    is_conllu = format_suffix(path) == ".conllu"
    if is_conllu != (kind == "dependency"):
        expected = "*.conllu or *.conllu.gz" if not is_conllu else "another name than *.conllu"
        raise DataError(f"{path}: expected {expected} for {kind} trees")


def _resumed(partial: Path, made_by: dict[str, Any]) -> _State:
    """The state of the completed part; empty at first, and once the trees are in their file.

    Raises:
        DataError: It is damaged, or was made with another parser or option.
    """
    file = partial / _STATE
    if not (file.exists() and (partial / _TREES).exists()):
        return _State(made_by)
    hint = "start over with --overwrite"
    try:
        state = _State(**json.loads(file.read_text(encoding="utf-8")))
        state.lines, state.bad, state.size = map(int, (state.lines, state.bad, state.size))
        state.made_by = dict(state.made_by)
        whole = (partial / _TREES).stat().st_size >= state.size
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"{file}: damaged: {error}; {hint}") from None
    if not whole:
        raise DataError(f"{partial / _TREES}: truncated; {hint}")
    for name, value in made_by.items():
        found = state.made_by.get(name)
        if found != value:
            raise DataError(f"{partial} was begun with {name} {found!r}, not {value!r}: {hint}")
    return state


def _skipped(lines: Iterator[TextLine], state: _State, path: Path) -> Any:
    """Skips the completed lines and returns their running digest.

    Raises:
        DataError: They are not the lines that were parsed.
    """
    digest = hashlib.sha256()
    for line in itertools.islice(lines, state.lines):
        digest.update(_bytes_of(line))
    if digest.hexdigest() != state.digest:
        raise DataError(
            f"{path} was begun with other input: its first {state.lines:,} lines changed; start "
            "over with --overwrite"
        )
    return digest


def _bytes_of(line: TextLine) -> bytes:
    text = f"{line.number}\t{line.label}\t{line.text}\n"
    return text.encode("utf-8", "surrogatepass")


@contextmanager
def _part_of(path: Path) -> Iterator[Path]:
    """Creates the directory of the completed part; that of a pipe or device does not last."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        with tempfile.TemporaryDirectory() as directory:
            yield Path(directory)
        return
    partial = partial_path(path)
    partial.mkdir(parents=True, exist_ok=True)
    yield partial


@contextmanager
def _removed_without_batches(partial: Path) -> Iterator[None]:
    """Removes the directory at the end if there is nothing to resume from."""
    try:
        yield
    finally:
        if not (partial / _STATE).exists():
            shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def _appended(path: Path, size: int) -> Iterator[BinaryIO]:
    """Opens a file for appending after ``size`` bytes; later bytes, of a killed process, go."""
    with named(path, path), path.open("ab") as file:
        file.truncate(size)
        yield file


def _save(partial: Path, state: _State) -> None:
    write_atomically(partial / _STATE, json.dumps(vars(state)))


def _clear(partial: Path) -> None:
    for name in (_STATE, _TREES):
        (partial / name).unlink(missing_ok=True)


def _finish(path: Path, complete: Path) -> None:
    if not (os.path.lexists(path) or is_gzipped(path)):  # a file that exists keeps its permissions
        os.replace(complete, path)
        return
    with complete.open(encoding="utf-8", newline="") as file:
        write_text(path, iter(lambda: file.read(_CHUNK), ""))
