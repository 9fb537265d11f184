"""Flags for the user's own data: the options of the task ``own``."""

from __future__ import annotations

import argparse
from collections.abc import Container, Mapping, Sequence
from typing import Any

from graphsent.cli.declared import constant, docstrings, parameters
from graphsent.cli.usage import UsageError, descriptions, flag

__all__ = ["add_own_data", "check_effects", "is_asked_for", "with_own_data"]

_OWN = "graphsent.tasks.own:own"
_SPLITS = constant("graphsent.tasks:SPLITS")
_OF_CORPORA = ("data_dir", "parses_dir")
_CLASS = {"train": "class", "dev": "dev_class", "test": "test_class"}
_SEVERAL = {"nargs": "+", "action": "extend"}  # after one flag, or each after a flag of its own


class _OneFile(argparse.Action):
    """A flag that names one file, however often; without a file, it is ``""``."""

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: str | None = None
    ) -> None:
        """Raises a UsageError if the flag names another file than before."""
        before = getattr(namespace, self.dest, None) or ""
        if values and before and values != before:
            raise UsageError(f"{option_string}: expected one file, got {before!r} and {values!r}")
        setattr(namespace, self.dest, values or before)


# Option -> how its flag differs from a plain string flag.
_KINDS: dict[str, dict[str, Any]] = {
    "text_column": {**_SEVERAL, "metavar": "NAME"},
    "label_column": {"metavar": "NAME"},
    "regression": {"type": bool, "nargs": "?", "const": True},
    "split": {"type": float, "metavar": "SHARE"},
    **{name: {"type": int} for name in ("split_seed", "fold", "num_folds")},
    "input": {"choices": constant("graphsent.tasks.own.reader:INPUTS")},
    "labels": {**_SEVERAL, "metavar": "LABEL"},
    **{split: {"metavar": "FILE", "action": _OneFile} for split in _SPLITS},
    **{f"{split}_trees": {**_SEVERAL, "metavar": "FILE"} for split in _SPLITS},
}


def add_own_data(group: Any, *, judges: bool = False, without: Container[str] = ()) -> None:
    """Declares the flags.

    Args:
        group: The argument group to add them to.
        judges: Whether ``--test`` may be given without a file (its value is then ``""``), to
            evaluate the model on what is held out of train.
        without: Flags that exist already, with another meaning.
    """
    (document,) = docstrings(_OWN)
    texts = descriptions(document)
    for name in parameters(_OWN):
        if flag(name) in without:
            continue
        kind = _KINDS.get(name, {})
        if "choices" not in kind:
            kind = {"type": str, **kind}
        text = texts[name].replace("; or one file per label", " (for one file per label: --class)")
        if judges and name == "test":
            kind = {**kind, "nargs": "?", "const": ""}
            text = (
                "Evaluate the best model on test at the end: on FILE, or on what is held out of "
                "train."
            )
        group.add_argument(flag(name), help=text, **kind)
        if name in _CLASS:
            group.add_argument(
                flag(_CLASS[name]),
                type=str,
                action="append",
                metavar="LABEL=FILE",
                help=f"Instead of {flag(name)}: the file of one label, one sentence or tree per "
                "line; repeat for each label.",
            )


def is_asked_for(arguments: Sequence[str]) -> bool:
    """Whether the arguments of a command name files of the user's own data."""
    flags = {flag(name) for name in ("train", _CLASS["train"])}
    return any(argument.partition("=")[0] in flags for argument in arguments)


def check_effects(
    given: Mapping[str, Any], options: Mapping[str, Any], *, several_folds: bool = False
) -> None:
    """Checks that each option has an effect on the data.

    Args:
        given: The options given to the command.
        options: The options of the task, including those of a configuration.
        several_folds: Whether there is one run per fold.

    Raises:
        UsageError: One has none.
    """
    files = [options[split] for split in _SPLITS if options.get(split)]
    has_folds = several_folds or options.get("fold") is not None
    if "num_folds" in given and not has_folds:
        raise UsageError("--num-folds needs --fold or --folds")
    holds_out = not options.get("dev") or not (options.get("test") or has_folds)
    is_split = holds_out and options.get("split") != 0
    for name in ("split", "split_seed"):
        if given.get(name) and not is_split:
            raise UsageError(f"{flag(name)} has no effect: nothing is held out of train")
    if given.get("test") == "" and not (options.get("test") or has_folds or is_split):
        raise UsageError("--test has no effect: there is no test split; expected --test FILE")
    if all(isinstance(each, Mapping) for each in files):
        for name in ("text_column", "label_column"):
            if name in given:
                raise UsageError(f"{flag(name)} has no effect: files per label have no columns")
    for name in _OF_CORPORA:
        if name in given:
            raise UsageError(f"{flag(name)} is for published corpora, not for your own data")


def with_own_data(given: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name, with files per label merged into the options of the task.

    Raises:
        UsageError: An argument is not of the form ``LABEL=FILE``, a label occurs twice, or both
            forms are given.
    """
    given = dict(given)
    for split, name in _CLASS.items():
        if name not in given:
            continue
        if split in given:
            raise UsageError(f"{flag(name)} and {flag(split)} are mutually exclusive")
        files: dict[str, str] = {}
        for each in given.pop(name):
            label, is_there, path = each.partition("=")
            label = label.strip()
            if not (label and is_there and path):
                raise UsageError(f"{flag(name)}: expected LABEL=FILE, got {each!r}")
            if label in files:
                raise UsageError(
                    f"{flag(name)}: expected one file per label, got two for {label!r}"
                )
            files[label] = path
        given[split] = files
    return given
