"""Predict the class of every phrase of parse trees, or a score, or how two sentences relate."""

from __future__ import annotations

import itertools
import json
import sys
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from graphsent.cli.own_tasks import import_from_here
from graphsent.cli.trees_in import Given, ReadTexts, given_in, name_of
from graphsent.cli.usage import UsageError
from graphsent.errors import FailedError, GraphsentError, GraphsentWarning
from graphsent.models import (
    Model,
    PairPrediction,
    ParseReranker,
    Prediction,
    RelatednessModel,
    Sentence,
)
from graphsent.training import load_model
from graphsent.trees import (
    DependencyTree,
    Tree,
    TreeError,
    escape,
    iter_nbest,
    parse_nbest,
    relabel,
    to_conllu,
)
from graphsent.trees.errors import TextOutsideTree

__all__ = ["run"]

_FORMATS = ("text", "jsonl", "trees")
_AT_ONCE = 1024  # inputs whose predictions are in memory together


class _Input(NamedTuple):
    """A tree, sentence or pair, in the line where it begins; or what is wrong with it."""

    line: int
    value: Any
    errors: tuple[str, ...] = ()


class _Tally:
    """Counts inputs and words, and reports bad and unknown ones.

    Args:
        model: Knows words.
        strict: Whether the first bad input is the end.
        listed: Whether unknown words are listed, not only counted.
    """

    def __init__(self, model: Model, *, strict: bool, listed: bool) -> None:
        self.inputs = 0
        self.uneven = ""  # what there is to say if a file has more inputs than the other
        self._bad = self._words = self._unknown = 0
        self._vocab = model.vocab
        self._strict = strict
        self._listed: Counter[str] | None = Counter() if listed else None

    def add_bad(self, errors: Sequence[str]) -> None:
        """Reports an input that is not predicted.

        Raises:
            FailedError: Bad input is not allowed.
        """
        if self._strict:
            raise FailedError(errors[0])
        self.inputs += 1
        self._bad += 1
        for error in errors:
            _say(error)

    def add(self, words: Sequence[str]) -> None:
        """Counts an input that is predicted."""
        self.inputs += 1
        self._words += len(words)
        unknown = list(self._vocab.unknown(words))
        self._unknown += len(unknown)
        if self._listed is not None:
            self._listed.update(unknown)

    def close(self) -> None:
        """Says what was counted.

        Raises:
            FailedError: There were bad inputs, or not as many in two files.
        """
        if self._unknown:
            hint = "" if self._listed is not None else " (--unknown lists them)"
            _say(f"{self._unknown:,} of {self._words:,} words are unknown to the model{hint}")
            for word, count in (self._listed or Counter()).most_common():
                print(f"{count}\t{word}", file=sys.stderr)
        count = f"{self._bad:,} of {self.inputs:,} inputs are bad and have no result"
        problems = [count] * bool(self._bad) + [self.uneven] * bool(self.uneven)
        if problems:
            raise FailedError("; ".join(problems))


def run(arguments: Any) -> None:
    """Writes a line for each tree, sentence or pair."""
    if arguments.batch_size < 1:
        raise UsageError(f"--batch-size: expected at least 1, got {arguments.batch_size}")
    model = load_model(arguments.run, arguments.encoder)
    model.engine = arguments.engine
    if isinstance(model, ParseReranker):
        _rerank(model, arguments)
        return
    of_pairs = isinstance(model, RelatednessModel)
    _check_arguments(model, arguments, of_pairs)
    read_texts = _reader_of_texts(model, arguments)
    tally = _Tally(model, strict=arguments.strict, listed=arguments.unknown)
    given = _pairs(read_texts, arguments, tally) if of_pairs else _singles(read_texts, arguments)
    for inputs in given:
        for begin in range(0, len(inputs), _AT_ONCE):
            for line in _lines(model, inputs[begin : begin + _AT_ONCE], arguments, tally):
                print(line)
        sys.stdout.flush()
    if not tally.inputs:
        _say(f"{name_of(arguments.file)} is empty: there is nothing to predict")
    tally.close()


def _rerank(model: ParseReranker, arguments: Any) -> None:
    """Writes the chosen tree of each n-best list."""
    if arguments.second is not None or arguments.parser is not None:
        raise UsageError(f"the model {model.name!r} reads one file of n-best lists, and no text")
    numbered = enumerate(sys.stdin, 1) if arguments.file == "-" else None
    lists = iter_nbest(arguments.file) if numbered is None else parse_nbest(numbered, "<stdin>")
    count = 0
    while piece := list(itertools.islice(lists, arguments.batch_size)):
        for ranked in model.predict(piece, arguments.batch_size):
            is_json = arguments.format == "jsonl"
            line = json.dumps(ranked.to_dict(), ensure_ascii=False) if is_json else ranked.tree
            print(line)
        count += len(piece)
        sys.stdout.flush()
    if not count:
        _say(f"{name_of(arguments.file)} is empty: there is nothing to predict")


def _check_arguments(model: Any, arguments: Any, of_pairs: bool) -> None:
    if of_pairs and arguments.second is None:
        raise UsageError(
            f"the model {model.name!r} scores pairs of sentences: give a file of first and one of "
            "second sentences"
        )
    if not of_pairs and arguments.second is not None:
        raise UsageError(f"the model {model.name!r} reads single sentences, got two files")
    if of_pairs and arguments.format == "trees":
        raise UsageError("--format trees is for classes of nodes; pairs are text or jsonl")
    if not of_pairs and model.goal == "regression" and arguments.format == "trees":
        raise UsageError("--format trees is for classes of nodes; scores are text or jsonl")


def _reader_of_texts(model: Any, arguments: Any) -> ReadTexts | None:
    """How the model reads raw text, None if it reads trees alone."""
    if model.tree_kind == "words" and not (arguments.parser or model.reads_text):
        return lambda texts: [Sentence(model.tokenize(text)) for text in texts]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GraphsentWarning)
        if arguments.parser:
            import_from_here(arguments.parser)
            model.parser = arguments.parser
    _say_warnings(caught)
    if model.reads_text:
        return lambda texts: _parsed(model, texts)
    if arguments.input == "text":
        raise UsageError(f"--input text: the model {model.name!r} reads trees: add --parser NAME")
    return None


def _parsed(model: Any, texts: list[str]) -> list[Any]:
    """The trees of texts; what there is to say about the parser is said when it is made."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GraphsentWarning)
        found = model.parse(texts)
    _say_warnings(caught)
    return found


def _say_warnings(caught: Sequence[warnings.WarningMessage]) -> None:
    for warning in caught:
        if issubclass(warning.category, GraphsentWarning):
            _say(str(warning.message))


def _singles(read_texts: ReadTexts | None, arguments: Any) -> Iterator[list[_Input]]:
    for piece in given_in(arguments.file, read_texts, arguments.input):
        inputs = [_Input(each.line, each.content, _errors(arguments.file, each)) for each in piece]
        if arguments.format == "trees" and any(isinstance(each.value, Sentence) for each in inputs):
            raise UsageError("--format trees is for trees; classes of sentences are text or jsonl")
        yield inputs


def _pairs(read_texts: ReadTexts | None, arguments: Any, tally: _Tally) -> Iterator[list[_Input]]:
    """Pairs of what comes in two files, neither of which is read much further than the other."""
    paths = (arguments.file, arguments.second)
    pieces = [given_in(path, read_texts, arguments.input) for path in paths]
    waiting: list[deque[Given]] = [deque(), deque()]
    counts = [0, 0]
    ended = False
    while not ended:
        side = int(len(waiting[1]) < len(waiting[0]))
        piece = next(pieces[side], None)
        ended = piece is None
        waiting[side].extend(piece or ())
        counts[side] += len(piece or ())
        both = min(map(len, waiting))
        yield [
            _Input(pair[0].line, tuple(each.content for each in pair), _errors_of_both(paths, pair))
            for pair in ((waiting[0].popleft(), waiting[1].popleft()) for _ in range(both))
        ]
    for side in (0, 1):
        counts[side] += sum(map(len, pieces[side]))
    if counts[0] != counts[1]:
        tally.uneven = (
            f"{paths[0]} has {counts[0]} trees and {paths[1]} {counts[1]}: expected as many in both"
        )


def _errors_of_both(paths: Sequence[str], pair: Sequence[Given]) -> tuple[str, ...]:
    return tuple(
        error for path, each in zip(paths, pair, strict=True) for error in _errors(path, each)
    )


def _errors(path: str, given: Given) -> tuple[str, ...]:
    """What is wrong with something, and where."""
    error = given.content
    if not isinstance(error, GraphsentError):
        return ()
    named = isinstance(error, TreeError) and error.source is not None
    message = str(error) if named else f"{name_of(path)}:{given.line}: {error}"
    if isinstance(error, TextOutsideTree) and error.column == 1:
        message += "; this model reads parse trees, no raw text without --parser"
    return (message,)


def _lines(model: Model, inputs: list[_Input], arguments: Any, tally: _Tally) -> Iterator[str]:
    """A line for each input, in their order."""
    sound = [each.value for each in inputs if not each.errors]
    answers = iter(_answers(lambda part: model.predict(part, arguments.batch_size), sound))
    for each in inputs:
        answer, errors = (None, each.errors) if each.errors else (next(answers), ())
        if isinstance(answer, GraphsentError):  # a sound tree, but none for this model
            errors = (f"{name_of(arguments.file)}:{each.line}: {answer}",)
        if errors:
            tally.add_bad(errors)
            error = {"line": each.line, "error": "; ".join(errors)}
            yield json.dumps(error, ensure_ascii=False) if arguments.format == "jsonl" else ""
        else:
            sentences = each.value if isinstance(each.value, tuple) else (each.value,)
            tally.add([word for sentence in sentences for word in sentence.words])
            if isinstance(answer, Prediction):
                yield _class_line(answer, arguments.format)
            elif isinstance(answer, PairPrediction):
                yield _pair_line(answer, arguments.format)
            else:
                yield _score_line(float(answer), sentences, arguments.format)


def _answers(predict: Callable[[list[Any]], Sequence[Any]], inputs: list[Any]) -> list[Any]:
    """A prediction for each input, or the error with which the model refuses it."""
    try:
        return list(predict(inputs))
    except GraphsentError as error:
        if len(inputs) == 1:
            return [error]
    half = len(inputs) // 2
    return [*_answers(predict, inputs[:half]), *_answers(predict, inputs[half:])]


def _class_line(prediction: Any, line_format: str) -> str:
    if line_format == "jsonl":
        return json.dumps(prediction.to_dict(), ensure_ascii=False)
    if line_format == "trees":
        tree = prediction.to_tree(names=True)
        return to_conllu(tree) if isinstance(tree, DependencyTree) else str(_writable(tree))
    probability = float(prediction.probabilities[prediction.root, prediction.root_label])
    sentence = " ".join(prediction.tree.words)
    return f"{prediction.root_name}\t{probability:.3f}\t{sentence}"


def _writable(tree: Tree) -> Tree:
    """A tree whose labels can be written in brackets."""
    escapes = {ord(bracket): escape(bracket) for bracket in "()"}
    return relabel(tree, lambda label: "_".join(label.translate(escapes).split()))


def _pair_line(prediction: PairPrediction, line_format: str) -> str:
    values = prediction.to_dict()
    if line_format == "jsonl":
        return json.dumps(values, ensure_ascii=False)
    probability = f"{prediction.probabilities[prediction.label]:.3f}"
    return "\t".join((prediction.name, probability, values["first"], values["second"]))


def _score_line(score: float, sentences: tuple[Any, ...], line_format: str) -> str:
    texts = [" ".join(sentence.words) for sentence in sentences]
    if line_format == "jsonl":
        names = ("first", "second") if len(texts) > 1 else ("text",)
        values = {"score": round(score, 6), **dict(zip(names, texts, strict=True))}
        return json.dumps(values, ensure_ascii=False)
    return "\t".join((f"{score:.3f}", *texts))


def _say(message: str) -> None:
    print(f"graphsent predict: {message}", file=sys.stderr)
