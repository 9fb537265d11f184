"""How many words of a corpus have a pre-trained vector."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Coverage"]


@dataclass(frozen=True)
class Coverage:
    """Words of a corpus, and how many of them were found.

    Attributes:
        types: Number of distinct words.
        types_found: How many of them have a vector.
        tokens: Number of running words; None if not counted.
        tokens_found: How many of them have a vector; None if not counted.
    """

    types: int
    types_found: int
    tokens: int | None = None
    tokens_found: int | None = None

    def __str__(self) -> str:
        text = f"{_share(self.types_found, self.types)} words"
        if self.tokens is not None and self.tokens_found is not None:
            text += f", {_share(self.tokens_found, self.tokens)} tokens"
        return text


def _share(found: int, total: int) -> str:
    percent = 100 * found / total if total else 100.0
    return f"{found:,} ({percent:.2f} %) of {total:,}"
