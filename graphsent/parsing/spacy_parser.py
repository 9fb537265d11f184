"""Dependency trees by spaCy, in any language with a pipeline."""

from __future__ import annotations

from typing import Any

from graphsent._names import message_of
from graphsent.parsing.errors import ParserError
from graphsent.parsing.packages import imported
from graphsent.parsing.parser import Parser, TreeSource, check_kind
from graphsent.parsing.text import word_token
from graphsent.trees import DependencyTree

__all__ = ["load"]

_ROOT = "root"
_UNUSED = ("ner", "textcat", "textcat_multilabel")  # if the pipeline has them


def load(model: str, kind: str | None, num_threads: int | None) -> Parser:
    """Loads a spaCy pipeline as a parser, see :func:`~graphsent.parsing.load_parser`.

    Args:
        model: An installed package such as ``en_core_web_sm``, or the directory of a pipeline.
        kind: None or ``"dependency"``.
        num_threads: None or 1.
    """
    name = f"spacy:{model}"
    kind = check_kind(name, ("dependency",), kind)
    if num_threads not in (None, 1):
        raise ParserError(f"{name} computes in one thread, got num_threads={num_threads}")
    spacy = imported("spacy", "spacy")
    try:
        nlp = spacy.load(model, exclude=_UNUSED)
    except (OSError, ValueError) as error:
        raise ParserError(f"{name}: spaCy cannot load the pipeline: {message_of(error)}") from None
    if not any("token.dep" in nlp.get_pipe_meta(pipe).assigns for pipe in nlp.pipe_names):
        raise ParserError(f"{name}: the pipeline has no parser, only {', '.join(nlp.pipe_names)}")
    meta = nlp.meta
    version = f"spaCy {spacy.__version__}, {meta['lang']}_{meta['name']} {meta['version']}"

    def parse(texts: list[str]) -> list[DependencyTree]:
        return [_tree(doc) for doc in nlp.pipe(_one_sentence(nlp, text) for text in texts)]

    def split(texts: list[str]) -> list[list[str]]:
        return [[sentence.text for sentence in doc.sents] for doc in nlp.pipe(texts)]

    return Parser(TreeSource(kind, name, version), parse, split)


def _one_sentence(nlp: Any, text: str) -> Any:
    """Tokenizes a text as a single sentence, so that it has one root."""
    doc = nlp.make_doc(text)
    for token in doc[1:]:
        token.is_sent_start = False
    return doc


def _tree(doc: Any) -> DependencyTree:
    is_root = [token.head.i == token.i for token in doc]
    return DependencyTree(
        [word_token(token.text) for token in doc],
        [-1 if root else token.head.i for token, root in zip(doc, is_root, strict=True)],
        relations=[_ROOT if root else token.dep_ for token, root in zip(doc, is_root, strict=True)],
        upos=[token.pos_ for token in doc],
        xpos=[token.tag_ for token in doc],
        lemmas=[word_token(token.lemma_) for token in doc],
        feats=[str(token.morph) for token in doc],
    )
