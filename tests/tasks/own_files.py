"""Tiny user data: one word of a sentence decides its label."""

from __future__ import annotations

from pathlib import Path

_WORDS = {"pos": ("good", "lovely", "superb"), "neg": ("bad", "dull", "awful")}
_THINGS = ("film", "play", "book", "song", "plot", "cast", "scene", "score", "end", "idea")


def own_examples() -> list[tuple[str, str]]:
    """60 labels and sentences."""
    return [
        (label, f"a {word} {thing}")
        for thing in _THINGS
        for label, words in _WORDS.items()
        for word in words
    ]


def write_tsv(path: Path, examples: list[tuple[str, str]] | None = None) -> Path:
    """Writes lines of label, tab and sentence."""
    lines = [f"{label}\t{text}\n" for label, text in examples or own_examples()]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def write_trees(path: Path, examples: list[tuple[str, str]] | None = None) -> Path:
    """Writes right-branching trees of the sentences, one per line."""
    lines = []
    for _, text in examples or own_examples():
        first, second, third = text.split()
        lines.append(f"(NP (DT {first}) (NP (JJ {second}) (NN {third})))\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path
