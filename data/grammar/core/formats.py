"""The file formats: bracketed trees, CoNLL-U, tab-separated pairs."""

from __future__ import annotations

from ..reviews.meaning import Meaning, compose, label_of, word_meaning
from .derivation import BinaryTree, Node, dependencies, dissolved, words

_UPOS = {
    tag: universal
    for universal, tags in {
        "ADJ": "JJ JJR JJS",
        "ADP": "IN",
        "ADV": "RB RBR WRB",
        "AUX": "MD",
        "CCONJ": "CC",
        "DET": "DT",
        "NOUN": "NN NNS",
        "NUM": "CD",
        "PART": "TO",
        "PRON": "EX PRP PRP$ WDT WP",
        "PROPN": "NNP",
        "PUNCT": ". , `` ''",
    }.items()
    for tag in tags.split()
}


def sentiment_tree(tree: BinaryTree) -> str:
    """A binary tree in the treebank's format, ``(3 (2 a) (3 (3 good) (2 film)))``."""

    def written(current: BinaryTree) -> tuple[str, Meaning]:
        if isinstance(current, str):
            meaning = word_meaning(current)
            return f"({label_of(meaning)} {current})", meaning
        (left, first), (right, second) = written(current[0]), written(current[1])
        meaning = compose(first, second)
        return f"({label_of(meaning)} {left} {right})", meaning

    return written(tree)[0]


def phrase_structure(node: Node) -> str:
    """A derivation as a Penn Treebank tree, ``(ROOT (S (NP (DT the) (NN film)) ...))``."""

    def written(current: Node) -> str:
        if not current.children:
            return f"({current.label} {current.form})"
        return f"({current.label} {' '.join(map(written, dissolved(current)))})"

    return f"(ROOT {written(node)})"


def _universal_tag(leaf: Node, relation: str) -> str:
    if leaf.label.startswith("VB"):
        return "AUX" if leaf.lemma == "be" or relation.startswith("aux") else "VERB"
    if leaf.label == "IN" and relation == "mark":
        return "SCONJ"
    if relation == "neg" and leaf.lemma == "not":
        return "PART"
    if leaf.label == "WDT" and relation == "det":
        return "DET"
    return _UPOS[leaf.label]


def conllu(node: Node, sent_id: str, label: str = "") -> str:
    """A derivation's dependency tree as a CoNLL-U block, closed by an empty line.

    Args:
        node: The finished derivation.
        sent_id: Its identifier.
        label: The class of the sentence; left out if empty.
    """
    lines = [f"# sent_id = {sent_id}"]
    if label:
        lines.append(f"# label = {label}")
    lines.append(f"# text = {' '.join(words(node))}")
    for number, token in enumerate(dependencies(node), start=1):
        leaf = token.leaf
        upos = _universal_tag(leaf, token.relation)
        columns = (leaf.form, leaf.lemma, upos, leaf.label, "_", str(token.head), token.relation)
        lines.append("\t".join((str(number), *columns, "_", "_")))
    return "\n".join(lines) + "\n\n"
