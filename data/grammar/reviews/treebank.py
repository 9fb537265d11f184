"""The sentiment treebank: twins and single sentences, in three disjoint parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..core.chooser import Chooser
from ..core.derivation import BinaryTree, Node, binary, words
from ..core.morphology import finish
from .domains import DOMAINS
from .lexicon import HELD_OUT_DEGREE, HELD_OUT_NEGATION
from .meaning import Operator, compose, label_of, word_meaning
from .naturalness import natural_meaning
from .phrases import Setting
from .pronouns import with_pronouns
from .sentences import sentence
from .twins import exchanged, exchanges, same_words

SIZES = {"train": 3000, "dev": 500, "test": 1000}
CLASS_SHARES = (0.15, 0.25, 0.19, 0.26, 0.15)
TWIN_SHARE = 0.72
HELD_OUT_SHARE = 0.15
LENGTHS = range(3, 31)


@dataclass(frozen=True)
class Review:
    """A finished sentence: its derivation, its binary tree and the label of the whole."""

    node: Node
    tree: BinaryTree
    label: int

    @property
    def text(self) -> str:
        return " ".join(words(self.node))


def held_out_uses(tree: BinaryTree) -> set[str]:
    """The words that stand in the scope of an operator they are held out from."""
    found: set[str] = set()

    def visit(current: BinaryTree) -> tuple[list[str], object]:
        if isinstance(current, str):
            return [current.lower()], word_meaning(current)
        (left_words, left), (right_words, right) = visit(current[0]), visit(current[1])
        for operator, scope in ((left, right_words), (right, left_words)):
            if isinstance(operator, Operator) and operator.name in ("negate", "reverse"):
                found.update(HELD_OUT_NEGATION.intersection(scope))
            if isinstance(operator, Operator) and operator.name in ("intensify", "diminish"):
                found.update(HELD_OUT_DEGREE.intersection(scope))
        return left_words + right_words, compose(left, right)

    visit(tree)
    return found


def _finished(node: Node, noun: str, other_than: int | None = None) -> Review | None:
    """The sentence; nothing if it is not natural, has a wrong length or the unwanted label."""
    if len(words(node)) not in LENGTHS:
        return None
    meaning = natural_meaning(node, noun)
    if meaning is None or label_of(meaning) == other_than:
        return None
    node = finish(node)
    return Review(node, binary(node), label_of(meaning))


def _twin_of(pick: Chooser, node: Node, review: Review, noun: str) -> Review | None:
    """Another sentence of the same words with another label, rather by exchanged words."""
    candidates = pick.shuffled(exchanges(node))
    if pick.chance(0.6):
        candidates.sort(key=lambda candidate: candidate[0])
    for _, path, other in candidates:
        twin = _finished(exchanged(node, path, other), noun, other_than=review.label)
        if twin and same_words(twin.node, review.node):
            return twin
    return None


def _draws(pick: Chooser) -> Iterator[tuple[Review, Node, str]]:
    """Natural sentences, with their unfinished derivation and the thing reviewed."""
    while True:
        domain = pick.pick(DOMAINS)
        setting = Setting(domain, pick.pick(domain.wholes), pick.pick(("present", "past")))
        noun = setting.noun.lemma
        node = with_pronouns(sentence(pick, setting), noun)
        review = _finished(node, noun)
        if review:
            yield review, node, noun


class _Part:
    """One part of the treebank while it fills up to its class counts."""

    def __init__(self, size: int, taken: set[str]) -> None:
        self.room = [round(share * size) for share in CLASS_SHARES]
        self.size = size
        self.reviews: list[Review] = []
        self.taken = taken

    def add(self, reviews: Sequence[Review]) -> bool:
        """Adds all of them, or none if a class is full or a sentence already known."""
        room = list(self.room)
        for review in reviews:
            room[review.label] -= 1
        if min(room) < 0 or any(review.text.lower() in self.taken for review in reviews):
            return False
        self.room = room
        self.reviews.extend(reviews)
        self.taken.update(review.text.lower() for review in reviews)
        return True


def _filled(pick: Chooser, size: int, taken: set[str], known: set[str] | None) -> list[Review]:
    """One part. Training has no ``known`` words, and nothing held out."""

    def accepts(review: Review) -> bool:
        if known is None:
            return not held_out_uses(review.tree)
        return known.issuperset(words(review.node))

    part = _Part(size, taken)
    held_out = 0 if known is None else round(HELD_OUT_SHARE * size)
    for review, node, noun in _draws(pick):
        wanted = part.room[review.label] and accepts(review)
        twin = _twin_of(pick, node, review, noun) if wanted else None
        if twin and accepts(twin):
            ordinary = not held_out_uses(review.tree) and not held_out_uses(twin.tree)
            if not ordinary or len(part.reviews) >= held_out:
                part.add((review, twin))
        if len(part.reviews) >= TWIN_SHARE * size:
            break
    for review, _, _ in _draws(pick):
        if len(part.reviews) == size:
            break
        if part.room[review.label] and accepts(review):
            part.add((review,))
    return pick.shuffled(part.reviews)


def make_treebank(seed: int) -> dict[str, list[Review]]:
    """The parts ``train``, ``dev`` and ``test``; no sentence is in two of them."""
    pick = Chooser(seed)
    taken: set[str] = set()
    parts: dict[str, list[Review]] = {}
    known: set[str] | None = None
    for name, size in SIZES.items():
        parts[name] = _filled(pick, size, taken, known)
        if known is None:
            known = {form for review in parts[name] for form in words(review.node)}
    return parts
