"""All files of the data directory that the grammar makes."""

from __future__ import annotations

from .core.derivation import Node
from .core.formats import conllu, phrase_structure, sentiment_tree
from .pairs.corpus import Pair, make_pairs
from .questions.corpus import make_questions
from .reviews.treebank import make_treebank

SEEDS = {"sentiment": 2015, "questions": 2002, "relatedness": 2014}

PAIRS_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"


def _parses(stem: str, sentences: list[tuple[str, str, str, Node]]) -> dict[str, str]:
    """The parse files of sentences given as identifier, class, class or pair number, derivation."""
    blocks = [conllu(node, sent_id, label) for sent_id, label, _, node in sentences]
    trees = [f"{key}\t{phrase_structure(node)}\n" for _, _, key, node in sentences]
    return {f"parses/{stem}.conllu.gz": "".join(blocks), f"parses/{stem}.trees.gz": "".join(trees)}


def sentiment_files() -> dict[str, str]:
    """The sentiment treebank and its parses."""
    files = {}
    for part, reviews in make_treebank(SEEDS["sentiment"]).items():
        files[f"sentiment/{part}.txt"] = "".join(
            sentiment_tree(review.tree) + "\n" for review in reviews
        )
        sentences = [
            (f"sentiment-{part}-{number}", str(review.label), str(review.label), review.node)
            for number, review in enumerate(reviews, start=1)
        ]
        files |= _parses(f"sentiment.{part}", sentences)
    return files


def question_files() -> dict[str, str]:
    """The typed questions and their parses."""
    files = {}
    for part, questions in make_questions(SEEDS["questions"]).items():
        files[f"questions/{part}.txt"] = "".join(
            f"{question.label} {question.text}\n" for question in questions
        )
        sentences = [
            (f"questions-{part}-{number}", question.label, question.label, question.node)
            for number, question in enumerate(questions, start=1)
        ]
        files |= _parses(f"questions.{part}", sentences)
    return files


def _pair_line(number: int, pair: Pair) -> str:
    columns = (str(number), *pair.texts, f"{pair.score:.1f}", pair.judgment)
    return "\t".join(columns) + "\n"


def relatedness_files() -> dict[str, str]:
    """The sentence pairs and the parses of both sides; pair numbers run on over the parts."""
    files = {}
    first = 1
    for part, pairs in make_pairs(SEEDS["relatedness"]).items():
        numbered = list(enumerate(pairs, start=first))
        first += len(pairs)
        lines = [_pair_line(number, pair) for number, pair in numbered]
        files[f"relatedness/{part}.txt"] = PAIRS_HEADER + "\n" + "".join(lines)
        for side, letter in enumerate("ab"):
            sentences = [
                (f"relatedness-{part}-{number}-{letter}", "", str(number), pair.nodes[side])
                for number, pair in numbered
            ]
            files |= _parses(f"relatedness.{part}.{letter}", sentences)
    return files


def make_files() -> dict[str, str]:
    """Path below the data directory -> content (before compression), for every generated file."""
    return sentiment_files() | question_files() | relatedness_files()
