"""Look inside a model, or at its learning curves."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from graphsent._files import write_atomically
from graphsent.cli.arguments.inspect import OPTIONS, TOP
from graphsent.cli.own_tasks import class_asked_for, import_from_here
from graphsent.cli.several_runs import numbers
from graphsent.cli.sources import name_of
from graphsent.cli.usage import UsageError, check_ending, check_target, refuse
from graphsent.cli.whole_files import parse_sentences, sentences_from
from graphsent.drawing import draw_curves
from graphsent.errors import DataError
from graphsent.models import (
    FeatureGraph,
    Table,
    attention_table,
    draw_attention,
    draw_feature_graph,
    draw_ngrams,
    feature_graph,
    filter_ngrams,
    ngram_table,
    sentence_attention,
)
from graphsent.tasks import get_task
from graphsent.tokenizers import tokenize_treebank
from graphsent.training import RunDirectory, load_model
from graphsent.training.figures import metric_title

__all__ = ["run"]

_MOST_DRAWN = 12  # filters, unless chosen by --filters
_PICTURES = (".png", ".svg")
_TABLES: dict[str, Callable[[Table], str]] = {
    ".txt": Table.to_text,
    ".csv": Table.to_csv,
    ".json": Table.to_json,
}


class _Finding(NamedTuple):
    """The result in each output form."""

    table: Table
    draw: Callable[..., Any]
    values: Callable[[], Any] | None = None  # for JSON, if it holds more than the table


def run(arguments: Any) -> None:
    """Prints a table, or writes a table or picture to a file."""
    check_ending(arguments.out, "--out", (*_TABLES, *_PICTURES))
    suffix = ".txt" if arguments.out is None else Path(arguments.out).suffix.lower()
    _check_options(arguments, suffix)
    check_target(arguments.out, "--out", (arguments.file, *RunDirectory(arguments.run).files()))
    if arguments.what == "curves":
        finding = _curves(arguments)
    else:
        model = load_model(arguments.run, arguments.encoder, class_asked_for(arguments))
        find = {"filters": _filters, "graph": _graph, "attention": _attention}[arguments.what]
        finding = find(model, arguments, suffix in _PICTURES)
    if suffix in _PICTURES:
        finding.draw(title=arguments.title, path=arguments.out)
    else:
        if suffix == ".json" and finding.values is not None:
            text = json.dumps(finding.values(), ensure_ascii=False)
        else:
            text = _TABLES[suffix](finding.table)
        if arguments.out is None:
            print(text)
            return
        write_atomically(arguments.out, text + "\n")
    print(f"wrote {arguments.out}")


def _check_options(arguments: Any, suffix: str) -> None:
    read = OPTIONS[arguments.what]
    others = [name for names in OPTIONS.values() for name in names if name not in read]
    refuse(arguments, others, f"is not for {arguments.what}")
    if (arguments.map is None) != (arguments.row is None):
        raise UsageError("--map and --row go together")
    if arguments.title is not None and suffix not in _PICTURES:
        raise UsageError("--title is for pictures: needs --out FILE.png or FILE.svg")


def _filters(model: Any, arguments: Any, drawn: bool) -> _Finding:
    sentences = _corpus(arguments, model)
    chosen = None if arguments.filters is None else numbers(arguments.filters, "--filters")
    if chosen is None and drawn and hasattr(model, "first_filters"):
        chosen = list(range(1, 1 + min(_MOST_DRAWN, len(model.first_filters()))))
    top = TOP if arguments.top is None else arguments.top
    found = filter_ngrams(model, sentences, top, filters=chosen)
    if not any(each.ngrams for each in found):
        source = arguments.run if arguments.file is None else name_of(arguments.file)
        raise DataError(f"{source}: all sentences are shorter than the filters")
    return _Finding(ngram_table(found), lambda **options: draw_ngrams(found, **options))


def _graph(model: Any, arguments: Any, _drawn: bool) -> _Finding:
    graph = feature_graph(model, _chosen_sentence(arguments, model))
    if arguments.map is not None:
        graph = _of_feature(graph, model, arguments.map, arguments.row)
    return _Finding(
        graph.table(), lambda **options: draw_feature_graph(graph, **options), graph.to_dict
    )


def _of_feature(graph: FeatureGraph, model: Any, number: int, row: int) -> FeatureGraph:
    maps = model.config["maps"][-1]
    rows = model.encoder.layers.num_channels // maps
    if not (1 <= number <= maps and 1 <= row <= rows):
        raise DataError(
            f"no map {number}, row {row}: the last layer has {maps} maps of {rows} rows"
        )
    return graph.of_feature(number - 1, row - 1)


def _attention(model: Any, arguments: Any, _drawn: bool) -> _Finding:
    (found,) = sentence_attention(model, [_chosen_sentence(arguments, model)])
    return _Finding(attention_table(found), lambda **options: draw_attention(found, **options))


def _curves(arguments: Any) -> _Finding:
    if arguments.file is not None:
        raise UsageError("curves reads the run alone: expected no file")
    run = RunDirectory(arguments.run)
    run.open()  # checks that it is one
    history = run.read_history()
    columns = {name: [each[name] for each in history] for name in history[0]}
    rows = [tuple(each.values()) for each in history]
    panels: dict[str, dict[str, list[float]]] = {"training": {"loss": columns["loss"]}}
    for name, values in columns.items():
        if name.startswith("dev_"):
            panels.setdefault("dev", {})[metric_title(name.removeprefix("dev_"))] = values
    return _Finding(Table(tuple(columns), rows), lambda **options: draw_curves(panels, **options))


def _corpus(arguments: Any, model: Any) -> Sequence[Any]:
    if arguments.file is not None:
        tokenize = _tokenize(model) or tokenize_treebank  # n-grams need no trees
        found = sentences_from(arguments.file, tokenize, model.label_names)
        if not found:
            raise DataError(f"{name_of(arguments.file)}: empty: there is nothing to look for")
        return found
    directory = RunDirectory(arguments.run)
    if not directory.config.is_file():
        raise UsageError(
            f"{arguments.run} is not a run directory and names no corpus: expected a FILE"
        )
    config = directory.open()
    import_from_here(config.task, config.model, config.parser)
    available = get_task(config.task, **config.task_options).available
    splits = [split for split in available if split != "train"]
    _, data = config.load_data(splits=splits, held_out=directory.read_splits())
    return [each for split in data.splits.values() for each in split]


def _tokenize(model: Any) -> Callable[[str], list[str]] | None:
    """The tokenizer of raw text; None for models that read trees."""
    return getattr(model, "tokenize", None)


def _chosen_sentence(arguments: Any, model: Any) -> Any:
    if arguments.sentence is not None and arguments.file is not None:
        raise UsageError("expected a file or --sentence, got both")
    if arguments.sentence is not None:
        text = arguments.sentence
        sentences: Sequence[Any] = parse_sentences(
            text, "--sentence", _tokenize(model), model.label_names
        )
    else:
        sentences = sentences_from(arguments.file or "-", _tokenize(model), model.label_names)
    number = 1 if arguments.number is None else arguments.number
    if not 1 <= number <= len(sentences):
        source = "--sentence" if arguments.sentence is not None else name_of(arguments.file or "-")
        raise DataError(f"{source}: no sentence {number}: there are {len(sentences)}")
    return sentences[number - 1]
