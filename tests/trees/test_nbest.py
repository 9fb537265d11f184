"""N-best lists and labelled brackets, on handwritten lists and on those of the WSJ sample."""

from __future__ import annotations

import gzip
import random
import re
from collections import Counter

import pytest

from graphsent.errors import DataError
from graphsent.trees import (
    BracketCounts,
    ParseList,
    Tree,
    TreeError,
    bracket_counts,
    iter_nbest,
    parse_nbest,
    read_nbest,
)

GOLD = "(ROOT (S (NP-SBJ (DT The) (NN end)) (VP (VBZ is) (PRT (RB near))) (. .)))"
OTHER = "(ROOT (S (NP (DT The) (NN end)) (VP (VBZ is)) (ADVP (RB near)) (. .)))"
BLOCK = f"# sent_id = a.1\ngold\t{GOLD}\ncand\t2.5\t1.0\t{GOLD}\ncand\t-1\t0.5\t{OTHER}\n"


def counts(parse: str, gold: str = GOLD) -> BracketCounts:
    return bracket_counts(Tree.from_string(parse), Tree.from_string(gold))


@pytest.mark.parametrize(
    ("parse", "expected"),
    [
        (GOLD, (4, 4, 4)),
        (GOLD.replace("PRT", "ADVP").replace("-SBJ", "=1").replace("ROOT", "TOP"), (4, 4, 4)),
        ("(S (NP (DT The) (NN end)) (VP (VBZ is) (PRT (RB near))) (NP (. .)))", (4, 4, 4)),
        ("(S (NP (DT The) (NN end)) (VP (VBZ is) (ADVP (RB near)) (. .)))", (4, 4, 4)),
        ("(S (NP (NP (DT The) (NN end))) (VP (VBZ is) (X (RB near))) (. .))", (3, 5, 4)),
        (OTHER, (3, 4, 4)),  # S, NP, ADVP; not VP over one word
    ],
)
def test_brackets_by_the_rules_of_evalb(parse, expected):
    assert counts(parse) == expected


def test_traces_do_not_count():
    gold = "(S (NP-SBJ (-NONE- *T*-1)) (VP (VB go) (ADVP (RB home))))"
    parse = "(S (VP (-NONE- *T*-1) (VB go) (ADVP (RB home))))"
    assert counts(gold, gold) == counts(parse, gold) == (3, 3, 3)


def brackets_by_nltk(text: str, gold: str) -> Counter:
    """The brackets of a parse by EVALB's rules, from the subtrees of an ``nltk.Tree``."""
    nltk = pytest.importorskip("nltk")
    kept = [tag not in {",", ":", "``", "''", "."} for _, tag in nltk.Tree.fromstring(gold).pos()]
    tree = nltk.Tree.fromstring(text)
    found: Counter = Counter()
    for place in tree.treepositions():
        node = tree[place]
        if isinstance(node, str) or node.height() == 2 or node.label() in {"ROOT", "TOP"}:
            continue
        leaves = [
            number
            for number in range(len(kept))
            if tree.leaf_treeposition(number)[: len(place)] == place and kept[number]
        ]
        if leaves:
            label = re.split("[-=]", node.label())[0].replace("PRT", "ADVP")
            found[label, leaves[0], leaves[-1]] += 1
    return found


@pytest.mark.parametrize("seed", range(40))
def test_brackets_are_those_that_nltk_finds(seed):
    rng = random.Random(seed)
    words = [(rng.choice(["DT", "NN", ".", ",", "RB"]), f"w{n}") for n in range(rng.randint(1, 9))]

    def grown(part: list[tuple[str, str]]) -> str:
        if len(part) == 1 and rng.random() < 0.6:
            return "({} {})".format(*part[0])
        label = rng.choice(["S", "NP", "NP-SBJ", "VP=2", "PRT", "ADVP"])
        cut = rng.randint(1, len(part))
        sides = [part[:cut], part[cut:]] if cut < len(part) else [part]
        inner = " ".join(map(grown, filter(None, sides)))
        return f"({label} {inner})"

    gold, parse = (f"(ROOT (S {grown(words)}))" for _ in range(2))
    wanted, found = brackets_by_nltk(gold, gold), brackets_by_nltk(parse, gold)
    expected = ((found & wanted).total(), found.total(), wanted.total())
    assert counts(parse, gold) == expected


def test_precision_recall_and_f1_of_bracket_counts():
    assert counts(GOLD).f1 == 1
    found = BracketCounts(3, 5, 4)
    assert (found.precision, found.recall) == (0.6, 0.75)
    assert found.f1 == pytest.approx(2 * 0.6 * 0.75 / 1.35)
    assert BracketCounts(0, 0, 0).f1 == BracketCounts(0, 0, 0).precision == 0
    with pytest.raises(DataError, match="cannot be compared with the gold tree"):
        counts("(S (NN end))")


def test_a_gzipped_file_of_lists_is_read(tmp_path):
    bare = "cand\t3\t(S (NN go))"  # without a comment, a gold tree and F1
    text = f"\n#text = The end\n{BLOCK.replace('# sent', '#sent')}# near\n\n\n{bare}"
    path = tmp_path / "lists.gz"
    path.write_bytes(gzip.compress(text.replace("\n", "\r\n").encode()))
    first, second = read_nbest(path)
    other = OTHER
    assert isinstance(first, ParseList)
    assert first.name == "a.1"
    assert first.gold == first.candidates[0].tree == Tree.from_string(GOLD)
    assert [each.score for each in first.candidates] == [2.5, -1]
    assert [each.f1 for each in first.candidates] == [1, 0.5]
    assert str(first.candidates[1].tree) == other
    assert second == ((((Tree.from_string("(S (NN go))")), 3.0, None),), None, "")
    assert second.words == ["go"]
    assert list(parse_nbest(enumerate(text.split("\n"), 1))) == [first, second]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("cand\t2.5", "candidate\t2.5", 3),
        ("2.5", "x", 3),
        ("2.5", "nan", 3),
        ("(DT The)", "(DT The", 2),
        (f"cand\t-1\t0.5\t{OTHER}", "cand\t-1", 4),
        ("2.5", "1e39", 3),
        ("2.5", "1_0", 3),
        ("0.5", "50", 4),
        ("0.5", "-1", 4),
        (f"cand\t-1\t0.5\t{OTHER}", BLOCK.rstrip(), 4),
        (f"cand\t-1\t0.5\t{OTHER}", f"gold\t{OTHER}", 4),
        (f"cand\t-1\t0.5\t{OTHER}", "cand\t-1\t(S (NN go))", 4),
    ],
)
def test_malformed_lines_are_named(tmp_path, old, new, line):
    path = tmp_path / "lists"
    path.write_text(BLOCK.replace(old, new, 1))
    with pytest.raises(TreeError, match=rf"lists:{line}: expected "):
        list(iter_nbest(path))
    path.write_text(f"gold\t{GOLD}\n\n")
    with pytest.raises(TreeError, match="lists:2: expected a 'cand' line before the end"):
        read_nbest(path)


@pytest.mark.data
def test_all_f1_of_the_wsj_lists(parses_dir):
    totals = dict.fromkeys(("first", "best", "worst"), (0, 0, 0))
    lists = read_nbest(parses_dir / "wsj.nbest.heldout.gz")
    assert len(lists) == 245
    for each in lists:
        found = [bracket_counts(candidate.tree, each.gold) for candidate in each.candidates]
        for brackets, candidate in zip(found, each.candidates, strict=True):
            assert brackets.f1 == pytest.approx(candidate.f1, abs=5.1e-5)
        by_f1 = sorted(found, key=lambda brackets: brackets.f1)
        for name, chosen in (("first", found[0]), ("best", by_f1[-1]), ("worst", by_f1[0])):
            totals[name] = tuple(map(sum, zip(totals[name], chosen, strict=True)))
    figures = {name: round(100 * BracketCounts(*total).f1, 2) for name, total in totals.items()}
    assert figures == {"first": 90.82, "best": 93.63, "worst": 84.38}
