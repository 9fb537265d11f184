r"""Parse sentences, one per line, to a file of trees.

NAME is the parser:
  spacy:MODEL         dependency trees by an installed spaCy pipeline, or one in a directory
  stanza:LANGUAGE     trees of either kind by the models that stanza.download has fetched
  benepar:DIRECTORY   constituency trees by a Berkeley neural parser
  corenlp:URL         trees of either kind by a CoreNLP server
  module:function     your own: from a list of sentences to a list of trees
Each needs its package: pip install 'graphsent[spacy]', 'graphsent[stanza]' and so on.

Dependency trees are written to *.conllu, constituency trees to files of other names, in brackets;
both are compressed if the name ends in .gz. The input is text, a sentence a line;
label<TAB>sentence if it is named *.tsv; or a table with named columns, *.csv or *.jsonl; each may
be compressed, too. Labels go along: "# label = " in CoNLL-U, label<TAB>tree in brackets. Lines that
cannot be parsed are reported by number and keep their place: an empty line in brackets, a missing
"# sent_id" in CoNLL-U; the exit status is then 1.

Finished batches are kept beside OUT. After an interruption, the same command continues from there.

Examples:
  graphsent parse reviews.txt --out reviews.conllu --parser spacy:en_core_web_sm
  graphsent parse reviews.tsv --out reviews.trees.gz --parser benepar:DIRECTORY
  graphsent parse reviews.csv --text-column review --label-column stars --out reviews.conllu \
      --parser spacy:en_core_web_sm
  graphsent parse - --out out.trees --parser stanza:de --split-sentences < book.txt
"""

from __future__ import annotations

from typing import Any

from graphsent.cli.declared import constant

__all__ = ["add_arguments"]

_BATCH_SIZE = constant("graphsent.parsing.files:BATCH_SIZE")


def add_arguments(parser: Any) -> None:
    """Declares the command's arguments."""
    parser.add_argument("file", type=str, metavar="IN", help="Sentences; - is standard input.")
    parser.add_argument("--out", type=str, metavar="OUT", help="File of trees to write.")
    parser.add_argument("--parser", type=str, metavar="NAME", help="As listed above.")
    parser.add_argument("--text-column", type=str, metavar="NAME", help="Of sentences, in a table.")
    parser.add_argument("--label-column", type=str, metavar="NAME", help="Of labels, in a table.")
    parser.add_argument(
        "--split-sentences",
        action="store_true",
        help="Give each sentence of a line a tree of its own (default: one tree a line).",
    )
    parser.add_argument(
        "--batch-size",
        type=int,
        default=_BATCH_SIZE,
        help=f"Lines parsed at once (default: {_BATCH_SIZE}).",
    )
    parser.add_argument(
        "--num-threads",
        type=int,
        help="Threads of torch for benepar and Stanza, requests at a time for CoreNLP.",
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="Start anew instead of continuing after an interruption.",
    )
