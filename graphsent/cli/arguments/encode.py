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
  graphsent encode runs/a shards/ --ray --workers 8 --out vectors/
"""

from __future__ import annotations

from typing import Any

from graphsent.cli.declared import constant
from graphsent.cli.usage import (
    add_device,
    add_encoder,
    add_encoding,
    add_model_class,
    add_ray,
    add_text_column,
)

__all__ = ["add_arguments"]

_ENGINES = constant("graphsent.propagation:ENGINES")
_INPUTS = constant("graphsent.cli.trees_in:INPUTS")


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    add = parser.add_argument
    text = "Run or model directory (default: the bundled model)."
    add("run", type=str, nargs="?", metavar="RUN", help=text)
    text = "Input file, or sentences; - is standard input (default: -)."
    add("inputs", type=str, nargs="*", metavar="FILE", help=text)
    add("--out", "-o", type=str, metavar="FILE", help="Output file, written atomically.")
    add("--input", choices=_INPUTS, default="auto", help="Content of the lines (default: auto).")
    add_text_column(parser)
    add_encoding(parser)
    text = "Parser of raw text for models that read trees; as for graphsent predict."
    add("--parser", type=str, metavar="NAME", help=text)
    add("--strict", action="store_true", help="Stop at the first bad input.")
    text = "List unknown words and their counts on standard error."
    add("--unknown", action="store_true", help=text)
    add("--batch-size", type=int, default=32, help="Inputs per batch (default: 32).")
    add("--engine", choices=_ENGINES, default="auto", help="Propagation engine (default: auto).")
    add_device(parser)
    add_ray(parser)
    add_encoder(parser)
    add_model_class(parser)
