"""Write the vectors that a model has for sentences or trees.

Input is read as by graphsent predict, piece by piece, from a file, from standard input, or from
arguments with a blank in them; so memory use does not grow with it. The name of --out decides:
  .npy    an array, (number of inputs, length of a vector) float32
  .npz    the same as `vectors`, and `lines`, int64, the line where each input begins
  .jsonl  an object a line, with `text` and `vector`; also on standard output, without --out

Input that cannot be read is reported by line on standard error; its vector is NaN in an array, and
in jsonl there is an object with `line` and `error`, so that vectors and inputs stay in step. The
exit status is then 1.

Examples:
  graphsent encode runs/a sentences.txt --out vectors.npy
  graphsent encode runs/a trees.conllu --out vectors.npz
  graphsent encode "A lovely film." "A charming movie."
  graphsent encode runs/a shards/ --ray --workers 8 --out vectors/
"""

from __future__ import annotations

from typing import Any

from graphsent.cli.declared import constant
from graphsent.cli.usage import add_encoder, add_model_class, add_ray, add_text_column

__all__ = ["add_arguments"]

_ENGINES = constant("graphsent.propagation:ENGINES")
_INPUTS = constant("graphsent.cli.trees_in:INPUTS")


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    add = parser.add_argument
    text = "Run or model directory (default: the model that comes with graphsent)."
    add("run", type=str, nargs="?", metavar="RUN", help=text)
    text = "What to read, or sentences. - is standard input, the default."
    add("inputs", type=str, nargs="*", metavar="FILE", help=text)
    add("--out", "-o", type=str, metavar="FILE", help="Write to a file, whole or not at all.")
    add("--input", choices=_INPUTS, default="auto", help="What the lines are (default: auto).")
    add_text_column(parser)
    text = "Parses raw text for a model of trees; as for graphsent predict."
    add("--parser", type=str, metavar="NAME", help=text)
    add("--strict", action="store_true", help="Stop at the first input that is bad.")
    text = "List the words that the model does not know on standard error, with their counts."
    add("--unknown", action="store_true", help=text)
    add("--batch-size", type=int, default=32, help="Inputs computed at once (default: 32).")
    add("--engine", choices=_ENGINES, default="auto", help="How cells propagate (default: auto).")
    add_ray(parser)
    add_encoder(parser)
    add_model_class(parser)
