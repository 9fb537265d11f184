"""Arguments that several commands have."""

from __future__ import annotations

from typing import Any

from graphsent.cli.declared import constant

__all__ = [
    "add_data_dir",
    "add_device",
    "add_encoder",
    "add_encoding",
    "add_engine",
    "add_inference",
    "add_model_class",
    "add_places",
]


def add_data_dir(parser: Any) -> None:
    """Declares the directory of the corpora."""
    text = "Data directory (default: $GRAPHSENT_DATA, else the embedded data)."
    parser.add_argument("--data-dir", type=str, metavar="DIR", help=text)


def add_places(parser: Any) -> None:
    """Declares the directories of what a shipped configuration reads besides a corpus."""
    add = parser.add_argument
    add("--parses-dir", type=str, metavar="DIR", help="Parse trees, as for graphsent train.")
    text = "Word vectors (default: $GRAPHSENT_VECTORS, else vectors/ in or beside --data-dir)."
    add("--vectors-dir", type=str, metavar="DIR", help=text)
    text = "Contextual encoder (default: $GRAPHSENT_ENCODER)."
    add("--encoder", type=str, metavar="DIR", help=text)


def add_device(parser: Any) -> None:
    """Declares ``--device``, on which models run."""
    text = "Device: cpu, cuda, cuda:1, ... (default: cpu)."
    parser.add_argument("--device", type=str, default="cpu", help=text)


def add_encoder(parser: Any) -> None:
    """Declares the directory of a model's encoder."""
    parser.add_argument(
        "--encoder",
        type=str,
        metavar="DIR",
        help="New directory of the frozen encoder that the model was trained with, if it moved.",
    )


def add_encoding(parser: Any) -> None:
    """Declares the encoding of input files."""
    text = "Encoding of the files (default: utf-8)."
    parser.add_argument("--encoding", type=str, default="utf-8", help=text)


def add_model_class(parser: Any) -> None:
    """Declares the class of a custom model."""
    parser.add_argument(
        "--model-class",
        type=str,
        metavar="module:Class",
        help="Class of a custom model, as in train --model; its module is imported.",
    )


def add_engine(parser: Any) -> None:
    """Declares the propagation engine."""
    choices, text = constant("graphsent.propagation:ENGINES"), "Propagation engine (default: auto)."
    parser.add_argument("--engine", choices=choices, default="auto", help=text)


def add_inference(parser: Any, files: str, batch_size: int) -> None:
    """Declares a model, its inputs, and how they are read and processed.

    Args:
        parser: The parser of the command.
        files: Description of the inputs.
        batch_size: The default batch size.
    """
    add = parser.add_argument
    text = "Run or model directory (default: the bundled model)."
    add("run", type=str, nargs="?", metavar="RUN", help=text)
    add("inputs", type=str, nargs="*", metavar="FILE", help=files)
    add("--out", "-o", type=str, metavar="FILE", help="Output file, written atomically.")
    choices = constant("graphsent.tasks.own.reader:INPUTS")
    add("--input", choices=choices, default="auto", help="Content of the lines (default: auto).")
    text = (
        "Column of sentences in a table, *.csv, *.tsv or *.jsonl; given twice for pairs (default: "
        "columns with usual names)."
    )
    add("--text-column", action="append", metavar="NAME", help=text)
    add_encoding(parser)
    text = (
        "Parser of raw text for models that read trees, such as spacy:MODEL (default: the parser "
        "that the model was trained with); see graphsent parse --help."
    )
    add("--parser", type=str, metavar="NAME", help=text)
    add("--strict", action="store_true", help="Stop at the first bad input.")
    text = "List unknown words and their counts on standard error."
    add("--unknown", action="store_true", help=text)
    text = f"Inputs per batch (default: {batch_size})."
    add("--batch-size", type=int, default=batch_size, help=text)
    add_engine(parser)
    add_device(parser)
    text = (
        "Process all files of the directory FILE with Ray workers, on this machine or its cluster, "
        "and write the results to the directory --out. Files with results are skipped."
    )
    add("--ray", action="store_true", help=text)
    text = "Number of Ray workers, one CPU each (default: the number of CPUs)."
    add("--workers", type=int, metavar="N", help=text)
    add_encoder(parser)
    add_model_class(parser)
