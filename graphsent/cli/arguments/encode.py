"""Encode sentences or trees as vectors.

Input is read as by graphsent predict: from a file, from standard input, or from arguments that
contain a space. It is streamed, so memory use does not grow with it. The suffix of --out selects
the format:
  .npy    a float32 array of shape (inputs, vector size)
  .npz    that array as `vectors`, and as `lines` (int64) the line where each input begins
  .jsonl  one object per line, with `text` and `vector`; the default without --out

Input that cannot be read is reported by line on standard error. Its vector is NaN in an array; in
jsonl, its object has `line` and `error`, so that the output stays aligned with the input. The exit
status is then 1.

Examples:
  graphsent encode runs/a trees.txt --out vectors.npy
  graphsent encode runs/a trees.conllu --out vectors.npz
  graphsent encode "A lovely film." "A charming movie."
  graphsent encode runs/a texts/ --ray --workers 8 --out vectors/
"""

from __future__ import annotations

from typing import Any

from graphsent.cli.arguments.shared import add_inference

__all__ = ["add_arguments"]


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    text = "Input file, or sentences; - is standard input (default: -)."
    add_inference(parser, text, batch_size=32)
