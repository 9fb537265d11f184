r"""Parse sentences, one per line, into a file of trees.

NAME selects the parser:
  spacy:MODEL         dependency trees from a spaCy pipeline, installed or in a directory
  stanza:LANGUAGE     trees of either kind from models fetched by stanza.download
  benepar:DIRECTORY   constituency trees from a Berkeley neural parser
  corenlp:URL         trees of either kind from a CoreNLP server
  shape:SHAPE         trees of a fixed shape: balanced, left, right or random
  module:function     custom: a function from a list of sentences to a list of trees
The first four need their extras: pip install 'graphsent[spacy]', 'graphsent[stanza]' and so on.

IN is text, one sentence per line; label<TAB>sentence, or columns below a header, if named *.tsv; or
a table with named columns, *.csv or *.jsonl. Dependency trees are written as CoNLL-U, to an OUT
named *.conllu; constituency trees are written in brackets, to any other name. Both files may be
gzipped (*.gz). Labels, if any, are kept: as "# label = " in CoNLL-U, as label<TAB>tree in brackets.
Lines that cannot be parsed are reported by number and keep their place, as an empty line in
brackets or a gap in "# sent_id" in CoNLL-U; the exit status is then 1.

Finished batches are saved beside OUT. After an interruption, the same command resumes from them.

Examples:
  graphsent parse reviews.txt --out reviews.conllu --parser spacy:en_core_web_sm
  graphsent parse reviews.tsv --out reviews.trees.gz --parser benepar:DIRECTORY
  graphsent parse reviews.csv --text-column review --label-column stars --out reviews.conllu \
      --parser spacy:en_core_web_sm
  graphsent parse - --out out.trees --parser stanza:de --split-sentences < book.txt
"""

from __future__ import annotations

from typing import Any

from graphsent.cli.arguments.shared import add_encoding
from graphsent.cli.declared import constant

__all__ = ["add_arguments"]

_BATCH_SIZE = constant("graphsent.parsing.files:BATCH_SIZE")


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    parser.add_argument("file", type=str, metavar="IN", help="Sentences; - is standard input.")
    parser.add_argument("--out", type=str, metavar="OUT", help="Output file of trees (required).")
    parser.add_argument("--parser", type=str, metavar="NAME", help="Parser, see above (required).")
    parser.add_argument(
        "--text-column", type=str, metavar="NAME", help="Column of sentences in a table."
    )
    parser.add_argument(
        "--label-column", type=str, metavar="NAME", help="Column of labels in a table."
    )
    add_encoding(parser)
    parser.add_argument(
        "--split-sentences",
        action="store_true",
        help="Write one tree per sentence of a line (default: one tree per line).",
    )
    parser.add_argument(
        "--batch-size",
        type=int,
        default=_BATCH_SIZE,
        help=f"Lines per batch (default: {_BATCH_SIZE}).",
    )
    parser.add_argument(
        "--num-threads",
        type=int,
        help="Torch threads for benepar and Stanza, concurrent requests for CoreNLP.",
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="Start over instead of resuming after an interruption.",
    )
