"""Small readers of the embedded files, independent of the generator and the package."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import NamedTuple

PARTS = ("train", "dev", "test")


class Bracket(NamedTuple):
    """A node: a label, then a word or child nodes."""

    label: str
    word: str
    children: tuple[Bracket, ...]


class Word(NamedTuple):
    """A line of CoNLL-U."""

    form: str
    lemma: str
    upos: str
    tag: str
    head: int
    relation: str


class Sentence(NamedTuple):
    """A block of CoNLL-U."""

    comments: dict[str, str]
    words: list[Word]


def lines(path: Path) -> list[str]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    assert text.endswith("\n")
    assert "\r" not in text
    return text.split("\n")[:-1]


def bracketed(text: str) -> Bracket:
    """Reads one tree; fails on any error in it."""
    stack: list[list] = [[]]
    for token in re.findall(r"\(|\)|[^ ()]+", text):
        if token == "(":
            stack.append([])
        elif token == ")":
            label, *rest = stack.pop()
            words = [part for part in rest if isinstance(part, str)]
            assert len(rest) >= 1
            assert not words or len(rest) == 1, text
            node = Bracket(label, *((words[0], ()) if words else ("", tuple(rest))))
            stack[-1].append(node)
        else:
            stack[-1].append(token)
    ((tree,),) = stack
    return tree


def leaves(tree: Bracket) -> list[Bracket]:
    if tree.word:
        return [tree]
    return [leaf for child in tree.children for leaf in leaves(child)]


def nodes(tree: Bracket) -> list[Bracket]:
    return [tree, *(node for child in tree.children for node in nodes(child))]


def spans(tree: Bracket, start: int = 0) -> set[tuple[int, int]]:
    """The spans of all phrases of at least two words."""
    found, at = set(), start
    for child in tree.children:
        found |= spans(child, at)
        at += len(leaves(child))
    return found | {(start, at)} if at - start > 1 else found


def conllu(path: Path) -> list[Sentence]:
    sentences = []
    for block in "\n".join(lines(path)).strip("\n").split("\n\n"):
        rows = block.split("\n")
        comments = dict(row[2:].split(" = ", 1) for row in rows if row.startswith("#"))
        words = []
        for number, row in enumerate((row for row in rows if not row.startswith("#")), start=1):
            identifier, form, lemma, upos, tag, feats, head, relation, deps, misc = row.split("\t")
            assert (identifier, feats, deps, misc) == (str(number), "_", "_", "_")
            words.append(Word(form, lemma, upos, tag, int(head), relation))
        sentences.append(Sentence(comments, words))
    return sentences


def treebank(data: Path, part: str) -> list[Bracket]:
    return [bracketed(line) for line in lines(data / "sentiment" / f"{part}.txt")]


def questions(data: Path, part: str) -> list[tuple[str, list[str]]]:
    rows = [line.split(" ") for line in lines(data / "questions" / f"{part}.txt")]
    return [(label, words) for label, *words in rows]


def pairs(data: Path, part: str) -> list[list[str]]:
    header, *rows = lines(data / "relatedness" / f"{part}.txt")
    assert header.split("\t") == [
        "pair_ID",
        "sentence_A",
        "sentence_B",
        "relatedness_score",
        "entailment_judgment",
    ]
    return [row.split("\t") for row in rows]
