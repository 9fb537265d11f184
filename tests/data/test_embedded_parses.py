"""The parses: well-formed, over the words of the corpora, and consistent with each other."""

import pytest
from embedded_files import (
    PARTS,
    bracketed,
    conllu,
    leaves,
    lines,
    pairs,
    questions,
    spans,
    treebank,
)

from graphsent.trees import read_conllu, read_trees

UPOS = {
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "NOUN", "NUM", "PART", "PRON", "PROPN"),
    *("PUNCT", "SCONJ", "VERB"),
}
RELATIONS = {
    *("acl", "acomp", "advcl", "advmod", "agent", "amod", "appos", "attr", "aux", "auxpass", "cc"),
    *("ccomp", "compound", "conj", "det", "dobj", "expl", "mark", "neg", "nsubj", "nsubjpass"),
    *("nummod", "pcomp", "pobj", "poss", "preconj", "prep", "punct", "relcl", "root", "xcomp"),
}


def corpus(data, part):
    """Stem of the parse files, then identifier, label, key and words of every sentence."""
    for number, tree in enumerate(treebank(data, part), start=1):
        found = [leaf.word for leaf in leaves(tree)]
        yield "sentiment", f"sentiment-{part}-{number}", tree.label, tree.label, found
    for number, (label, found) in enumerate(questions(data, part), start=1):
        yield "questions", f"questions-{part}-{number}", label, label, found
    for number, first, second, *_ in pairs(data, part):
        for side, text in (("a", first), ("b", second)):
            stem = f"relatedness.{side}"
            yield stem, f"relatedness-{part}-{number}-{side}", None, number, text.split(" ")


def stem_of(kind, part):
    name, _, side = kind.partition(".")
    return ".".join(filter(None, (name, part, side)))


@pytest.fixture(scope="module", params=PARTS)
def sentences(request, embedded):
    """For each sentence of a part: what the corpus says, and its two parses."""
    part = request.param
    expected = list(corpus(embedded, part))
    stems = {kind: stem_of(kind, part) for kind in dict.fromkeys(row[0] for row in expected)}
    blocks = {k: conllu(embedded / "parses" / f"{s}.conllu.gz") for k, s in stems.items()}
    trees = {k: lines(embedded / "parses" / f"{s}.trees.gz") for k, s in stems.items()}
    assert {k: len(b) for k, b in blocks.items()} == {k: len(t) for k, t in trees.items()}
    remaining = {kind: zip(blocks[kind], trees[kind], strict=True) for kind in stems}
    result = [(row, *next(remaining[row[0]])) for row in expected]
    assert not any(list(rest) for rest in remaining.values())
    return result


def test_comments_and_words_are_those_of_the_corpus(sentences):
    for (_, identifier, label, key, words), block, line in sentences:
        assert block.comments["sent_id"] == identifier
        assert block.comments.get("label") == label
        assert block.comments["text"] == " ".join(words)
        assert [word.form for word in block.words] == words
        assert line.split("\t")[0] == key
        assert [leaf.word for leaf in leaves(bracketed(line.split("\t")[1]))] == words


def test_dependencies_are_trees_with_known_relations_and_tags(sentences):
    for _, block, _ in sentences:
        heads = [word.head for word in block.words]
        assert heads.count(0) == 1
        for word in block.words:
            assert word.relation in RELATIONS
            assert (word.relation == "root") == (word.head == 0)
            assert word.upos in UPOS
        for start in range(len(heads)):
            at, steps = start, 0
            while heads[at] != 0:
                at, steps = heads[at] - 1, steps + 1
                assert steps < len(heads), "a cycle"


def test_phrase_structure_has_one_root_and_the_same_tags(sentences):
    for _, block, line in sentences:
        tree = bracketed(line.split("\t")[1])
        assert tree.label == "ROOT"
        assert len(tree.children) == 1
        assert [leaf.label for leaf in leaves(tree)] == [word.tag for word in block.words]


def test_subjects_agree_with_present_tense_verbs(sentences):
    for _, block, _ in sentences:
        for word in block.words:
            if word.relation == "nsubj" and word.tag in {"NN", "NNS"} and word.head:
                verb = block.words[word.head - 1]
                if verb.tag in {"VBZ", "VBP"}:
                    assert (verb.tag == "VBP") == (word.tag == "NNS"), block.comments["text"]


@pytest.mark.parametrize("part", PARTS)
def test_phrases_of_a_sentiment_sentence_are_phrases_of_its_binary_tree(embedded, part):
    rows = lines(embedded / "parses" / f"sentiment.{part}.trees.gz")
    for binary, row in zip(treebank(embedded, part), rows, strict=True):
        assert spans(bracketed(row.split("\t")[1])) <= spans(binary)


def test_the_package_reads_all_of_it(embedded):
    trees = read_trees(embedded / "sentiment" / "dev.txt")
    parses = read_conllu(embedded / "parses" / "sentiment.dev.conllu.gz")
    assert [list(tree.words) for tree in trees] == [list(parse.words) for parse in parses]
