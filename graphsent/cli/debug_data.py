"""Inspect and validate data before training on them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from graphsent._files import write_json
from graphsent._numbers import rounded
from graphsent.cli.own_data import check_effects, with_own_data
from graphsent.cli.own_tasks import import_from_here
from graphsent.cli.usage import UsageError, check_target, counted, flag
from graphsent.errors import FailedError
from graphsent.tasks import Task, get_task, load_vectors, task_options
from graphsent.tasks.corpus import WORDS
from graphsent.tasks.inspection import SplitInspection, describe_counts, inspect_examples
from graphsent.tasks.own.task import Checked, OwnTask

__all__ = ["run"]

_MOST_LABELS = 30  # printed
_MOST_ARITIES = 6
_MOST_ALIKE = 10  # bad lines for the same reason
_PLACE = re.compile(r"(.*?):\d+(?::\d+)?: ", re.DOTALL)  # file, line and column
_DETAILS = re.compile(r"['\"].*|\d+", re.DOTALL)  # that the same reason has in each line


def run(arguments: Any) -> None:
    """Prints the findings.

    Raises:
        FailedError: There are bad lines or other problems.
    """
    given = with_own_data({k: v for k, v in vars(arguments).items() if v is not None})
    check_target(arguments.json, "--json", arguments.vectors or ())
    task, (splits, bad_lines, problems) = _read(given)
    label_names = task.label_names if task.goal == "classification" else ()
    inspections = {
        split: inspect_examples(examples, label_names) for split, examples in splits.items()
    }
    content: dict[str, Any] = {"splits": {}, "bad_lines": bad_lines, "problems": problems}
    train = inspections.get("train", SplitInspection())
    for split, found in inspections.items():
        content["splits"][split] = found.to_dict()
        lines = _lines(found, are_scores=not label_names)
        if split != "train" and found.examples:
            beyond = _beyond_train(found, train)
            content["splits"][split].update(beyond)
            lines += _beyond_lines(found, beyond)
        print("\n  ".join([f"{split}: {counted(found.examples, 'example')}", *lines]))
    both = [inspections[split] for split in ("dev", "test") if split in inspections]
    if len(both) == 2:
        content["test_texts_in_dev"] = both[1].shared_with(both[0])
        print(f"texts of test also in dev: {content['test_texts_in_dev']:,}")
    if arguments.vectors:
        words: Counter[str] = Counter()
        for found in inspections.values():
            words.update(found.words)
        coverage = load_vectors(arguments.vectors, list(words)).coverage(words)
        content["vectors"] = vars(coverage)
        print(f"vectors: {coverage}")
    if arguments.json:
        write_json(arguments.json, content, indent=2)
    for message in (*_grouped(bad_lines), *problems):
        print(message)
    if bad_lines or problems:
        kinds = {"bad line": bad_lines, "problem": problems}
        numbers = (counted(len(each), kind) for kind, each in kinds.items() if each)
        raise FailedError(" and ".join(numbers))


def _grouped(bad_lines: Sequence[str]) -> list[str]:
    """The messages about bad lines by file and reason; of many with the same ones, the first."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for message in bad_lines:
        place = _PLACE.match(message)
        file, end = (place[1], place.end()) if place else ("", 0)
        groups[file, _DETAILS.sub("", message[end:])].append(message)
    shown = []
    for alike in groups.values():
        shown += alike[:_MOST_ALIKE]
        rest = len(alike) - _MOST_ALIKE
        shown += [f"... and {counted(rest, 'more line')}"] if rest > 0 else []
    return shown


def _read(given: dict[str, Any]) -> tuple[Task, Checked]:
    """The task and its data; corpora are read as a whole, without bad lines."""
    own = {name: given[name] for name in task_options("own") if name in given}
    if "task" in given and given["task"] != "own":
        import_from_here(given["task"])
        options = {name: given[name] for name in task_options(given["task"]) if name in given}
        if own.keys() - options.keys():
            first = next(name for name in own if name not in options)
            raise UsageError(f"{flag(first)} is for your own data and cannot be used with --task")
        task = get_task(given["task"], **options)
        task.tokenizer = given.get("tokenizer", task.tokenizer)
        if task.examples == "lists":
            raise UsageError(
                f"the task {given['task']} has n-best lists: expected a task of sentences or pairs"
            )
        data = task.load(
            given.get("data_dir"),
            tree_kind=given.get("tree_kind", WORDS),
            parses_dir=given.get("parses_dir"),
        )
        check_target(given.get("json"), "--json", data.source.paths())
        print(f"data: {data.source.summary()}")
        return task, Checked(data.splits, [], [])
    if "train" not in own:
        raise UsageError("--train FILE (or --class LABEL=FILE), or --task NAME, is missing")
    check_effects(given, own)
    if "tree_kind" in given:
        raise UsageError("--tree-kind is for --task: your own data are read as they are")
    task = get_task("own", **own)
    assert isinstance(task, OwnTask)
    check_target(given.get("json"), "--json", task.paths())
    task.tokenizer = given.get("tokenizer", task.tokenizer)
    return task, task.checked()


def _lines(found: SplitInspection, *, are_scores: bool) -> list[str]:
    if not found.examples:
        return []
    lines = _scores(found) if are_scores else _labels(found)
    lengths = _range(describe_counts(found.lengths))
    lines.append(f"words: {lengths}; {len(found.words):,} distinct")
    if found.depths:
        lines.append(f"depth: {_range(describe_counts(found.depths))}")
    if found.arities:
        total = sum(found.arities.values())
        shown = [
            f"{number}: {100 * count / total:.1f} %"
            for number, count in sorted(found.arities.items())[:_MOST_ARITIES]
        ]
        more = f", up to {max(found.arities)}" if len(found.arities) > _MOST_ARITIES else ""
        lines.append(f"children of inner nodes: {', '.join(shown)}{more}")
    if found.depths:
        lines.append(
            f"labelled phrases within sentences: {found.labelled_phrases:,} of {found.phrases:,}"
        )
    if found.repeated:
        lines.append(
            f"repeated texts: {found.repeated:,}; "
            f"texts with conflicting labels: {found.contradicted:,}"
        )
    return lines


def _labels(found: SplitInspection) -> list[str]:
    lines = [
        f"{label or '(no label)'} {count:,} ({100 * count / found.examples:.1f} %)"
        for label, count in found.labels.most_common(_MOST_LABELS)
    ]
    rest = len(found.labels) - _MOST_LABELS
    return [*lines, f"... and {rest:,} more labels"] if rest > 0 else lines


def _scores(found: SplitInspection) -> list[str]:
    numbers = [float(label) for label in found.labels.elements() if label]
    if not numbers:
        return []
    mean = sum(numbers) / len(numbers)
    return [f"scores: {min(numbers):g} to {max(numbers):g}, mean {rounded(mean, 3)}"]


def _beyond_train(found: SplitInspection, train: SplitInspection) -> dict[str, int]:
    unknown = found.unknown_to(train)
    return {
        "words_not_in_train": len(unknown),
        "running_words_not_in_train": sum(unknown.values()),
        "texts_in_train": found.shared_with(train),
    }


def _beyond_lines(found: SplitInspection, beyond: dict[str, int]) -> list[str]:
    times = beyond["running_words_not_in_train"]
    percent = 100 * times / max(1, sum(found.words.values()))
    return [
        f"words not in train: {beyond['words_not_in_train']:,} distinct, {times:,} occurrences "
        f"({percent:.1f} %)",
        f"texts also in train: {beyond['texts_in_train']:,}",
    ]


def _range(described: dict[str, Any]) -> str:
    return (
        f"{described['lowest']} to {described['highest']}, mean {described['mean']:.2f}, "
        f"90th percentile {described['nine_tenths_up_to']}"
    )
