"""The report: the tables with their results, as objects and as files."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphsent._files import write_atomically
from graphsent.errors import DataError
from graphsent.reproduction.catalogue import Catalogue
from graphsent.reproduction.configurations import Configuration
from graphsent.reproduction.finished import FinishedRuns, cpu_minutes
from graphsent.reproduction.markdown import as_markdown, summary
from graphsent.reproduction.verdict import verdicts
from graphsent.tasks import get_task
from graphsent.tasks.corpus import WORDS
from graphsent.training.figures import is_share

__all__ = ["entries", "inserted", "report_files", "write_report"]

_DIGITS = 4
_BEGIN, _END = "<!-- results -->", "<!-- end of results -->"


def entries(
    catalogue: Catalogue, finished: FinishedRuns, *, fast: bool = False
) -> list[dict[str, Any]]:
    """All figures of all tables: those of the papers, and those reached here.

    Args:
        catalogue: The tables.
        finished: The runs.
        fast: Whether the runs are those of fast versions.

    Returns:
        One entry per metric of each result: ``table``, ``row``, ``configuration``, ``task``,
        ``model``, ``metric``, ``paper`` (its figure, or None), ``mean`` and ``std`` over the runs
        (n - 1; None without runs, or, for ``std``, with one), the number of runs ``n``, ``dev``
        (mean dev figure of the selected epochs, for metrics computed on dev), ``vectors``,
        ``trees``, ``selected_on`` (the data on which the epoch was selected), ``minutes`` of CPU
        time (mean per run), ``deviations`` from the paper, and how the settings were ``chosen``.
        Accuracies and F1 are in per cent.

    Raises:
        DataError: A finished run is damaged.
    """
    found = []
    for table in catalogue.tables.values():
        for result in table.results:
            shipped = catalogue.configurations[result.configuration]
            configuration = shipped.fast() if fast else shipped
            runs = list(finished.of(configuration).values())
            facts = _facts(configuration)
            for metric, paper in result.paper.items():
                test, dev = (_values(runs, split, metric) for split in ("test", "dev"))
                found.append(
                    {
                        "table": table.name,
                        "row": result.row,
                        "configuration": configuration.name,
                        "task": facts["task"],
                        "model": configuration.config["model"],
                        "metric": metric,
                        "paper": paper,
                        "mean": _rounded(statistics.fmean(test)) if test else None,
                        "std": _rounded(statistics.stdev(test)) if len(test) > 1 else None,
                        "n": len(test),
                        "dev": _rounded(statistics.fmean(dev)) if dev else None,
                        "vectors": facts["vectors"],
                        "trees": facts["trees"],
                        "selected_on": facts["selected_on"],
                        "minutes": _minutes(runs),
                        "deviations": list(configuration.deviations),
                        "chosen": configuration.chosen,
                    }
                )
    return found


def report_files(out: Path) -> tuple[Path, Path]:
    """The Markdown and the JSON file, beside the directory of finished runs."""
    return out.with_name(f"{out.name}.md"), out.with_name(f"{out.name}.json")


def write_report(
    catalogue: Catalogue,
    finished: FinishedRuns,
    *,
    fast: bool,
    document: Path | None,
) -> None:
    """Writes all tables to both :func:`report_files`, each file atomically.

    Args:
        catalogue: The tables.
        finished: The runs.
        fast: Whether they are those of fast versions.
        document: A file, if any, in which the lines between ``<!-- results -->`` and ``<!-- end of
            results -->`` are replaced by the main results.

    Raises:
        DataError: A finished run is damaged, compared runs were not evaluated on the same
            test data, or the document has no such lines.
    """
    found = entries(catalogue, finished, fast=fast)
    compared = verdicts(catalogue, finished, fast=fast)
    for_people, for_programs = report_files(finished.path)
    texts = {
        for_people: as_markdown(catalogue, finished, found, compared, fast=fast),
        for_programs: json.dumps(found, indent=1, ensure_ascii=False) + "\n",
    }
    if document:
        texts[document] = inserted(document, summary(catalogue, found, compared))
    for path, text in texts.items():
        write_atomically(path, text)


def inserted(document: Path, block: str) -> str:
    """The text of a document with the block between the markers replaced; it keeps its newlines.

    Raises:
        DataError: It cannot be read, or has no markers.
    """
    try:
        text = document.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{document}: cannot read it: {error}") from None
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not end:
        raise DataError(f"{document}: expected the lines {_BEGIN!r} and {_END!r}")
    newline = "\r\n" if "\r\n" in text else "\n"
    return before + begin + f"\n{block}\n".replace("\n", newline) + end + after


def _facts(configuration: Configuration) -> dict[str, str]:
    """The facts about a configuration that are shown with its figures."""
    config = configuration.run_config()
    task = get_task(config.task, **config.task_options)
    kind = config.input_kind
    corpus = task.corpora[0]
    if config.trees:
        trees = config.trees
    elif task.goal == "ranking":
        trees = "n-best lists"
    elif kind == WORDS:
        trees = "none"
    else:
        trees = f"{kind}, {'automatic' if kind in corpus.parses else 'of the corpus'}"
    vectors = [Path(name).stem for name in config.vectors]
    if config.inputs.encoder:
        tuned = "fine-tuned" if config.inputs.finetune_encoder else "frozen"
        vectors.append(f"{config.inputs.encoder}, {tuned}")
    if not vectors:
        vectors.append("random")
    selected_on = "dev"
    if task.num_folds:
        selected_on = "a tenth of the other folds"
    elif corpus.held_out:
        selected_on = "a tenth of train"
    options = [f"{v}" for name, v in config.task_options.items() if name in ("target", "classes")]
    return {
        "task": " ".join([config.task, *options]),
        "trees": trees,
        "vectors": " + ".join(vectors),
        "selected_on": selected_on,
    }


def _values(runs: list[dict[str, Any]], split: str, metric: str) -> list[float]:
    scale = 100 if is_share(metric) else 1
    return [scale * run[split][metric] for run in runs if metric in run[split]]


def _minutes(runs: Sequence[Mapping[str, Any]]) -> float | None:
    measured = cpu_minutes(runs)
    return round(statistics.fmean(measured), 2) if measured else None


def _rounded(value: float) -> float:
    return round(value, _DIGITS)
