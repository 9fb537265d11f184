"""The parts of the grammar one by one."""

import pytest
from embedded_files import bracketed, leaves, treebank
from grammar.core.chooser import Chooser
from grammar.core.derivation import (
    FRONTED,
    STRANDED,
    binary,
    dependencies,
    group,
    phrase,
    word,
    words,
)
from grammar.core.formats import conllu, phrase_structure, sentiment_tree
from grammar.core.morphology import finish, inflect, plural
from grammar.reviews.meaning import Operator, Value, compose, label_of, meaning_of
from grammar.reviews.naturalness import UnnaturalError, checked_meaning
from grammar.reviews.pronouns import with_pronouns
from grammar.reviews.twins import exchanged, exchanges, same_words


def film(*adjectives, slot=""):
    nominal = word("film", "NN")
    for adjective in reversed(adjectives):
        nominal = group(word(adjective, "JJ", slot="adjective/story/any").to("amod"), nominal)
    return phrase("NP", word("the", "DT").to("det"), nominal).at(slot)


def sentence(subject, adjective, mark="."):
    described = phrase("ADJP", word(adjective, "JJ", slot="adjective/story/any")).to("acomp")
    predicate = phrase("VP", word("is", "VBZ", "be"), described)
    clause = group(subject.to("nsubj"), predicate)
    return phrase("S", clause, word(mark, ".").to("punct"))


def test_choices_are_those_of_every_python_version():
    pick = Chooser(7)
    assert [pick.index(100) for _ in range(5)] == [32, 15, 65, 7, 53]
    assert pick.shuffled("abcdef") == ["b", "d", "e", "f", "a", "c"]
    assert sorted(pick.shuffled(range(50))) == list(range(50))
    assert {pick.weighted([(0, "never"), (1, "always")]) for _ in range(20)} == {"always"}
    for _ in range(50):
        first, second = pick.two("abc")
        assert first != second


def test_one_derivation_gives_three_trees():
    node = finish(sentence(film("dull"), "long"))
    assert words(node) == ["The", "dull", "film", "is", "long", "."]
    assert phrase_structure(node) == (
        "(ROOT (S (NP (DT The) (JJ dull) (NN film)) (VP (VBZ is) (ADJP (JJ long))) (. .)))"
    )
    assert binary(node) == ((("The", ("dull", "film")), ("is", "long")), ".")
    assert sentiment_tree(binary(node)) == (
        "(1 (1 (1 (2 The) (1 (1 dull) (2 film))) (2 (2 is) (2 long))) (2 .))"
    )
    tokens = [(token.head, token.relation) for token in dependencies(node)]
    assert tokens == [
        *((3, "det"), (3, "amod"), (4, "nsubj"), (0, "root"), (4, "acomp"), (4, "punct")),
    ]
    assert conllu(node, "x-1", "1").startswith(
        "# sent_id = x-1\n# label = 1\n# text = The dull film is long .\n"
        "1\tThe\tthe\tDET\tDT\t_\t3\tdet\t_\t_\n"
    )


def test_a_fronted_word_depends_on_the_preposition_it_left():
    what = phrase("WHNP", word("what", "WP")).to(FRONTED + "pobj")
    stranded = phrase("PP", word("for", "IN", slot=STRANDED)).to("prep")
    node = phrase("SQ", what, phrase("VP", word("stands", "VBZ", "stand"), stranded))
    assert [(t.head, t.relation) for t in dependencies(node)] == [
        (3, "pobj"),
        (0, "root"),
        (2, "prep"),
    ]


def test_a_node_of_three_children_is_not_binary():
    node = phrase("NP", *(word(form, "NN") for form in "abc"))
    with pytest.raises(ValueError, match="NP has 3 children"):
        binary(node)


@pytest.mark.parametrize(
    ("verb", "form", "number", "expected"),
    [
        ("be", "present", "I", "am"),
        ("be", "past", "plural", "were"),
        ("have", "present", "singular", "has"),
        ("deny", "present", "singular", "denies"),
        ("enjoy", "present", "singular", "enjoys"),
        ("watch", "present", "plural", "watch"),
        ("appal", "past", "singular", "appalled"),
        ("carry", "past participle", "singular", "carried"),
        ("write", "past participle", "singular", "written"),
        ("ride", "gerund", "singular", "riding"),
        ("jog", "gerund", "singular", "jogging"),
        ("carry", "gerund", "singular", "carrying"),
    ],
)
def test_verbs_are_inflected(verb, form, number, expected):
    assert inflect(verb, form, number) == expected


def test_plurals():
    nouns = ["film", "story", "chorus", "kitchen", "child", "boy", "watch"]
    plurals = ["films", "stories", "choruses", "kitchens", "children", "boys", "watches"]
    assert list(map(plural, nouns)) == plurals


def test_articles_and_capitals():
    leaves_of = [word("a", "DT").to("det"), word("honest", "JJ").to("amod"), word("film", "NN")]
    assert words(finish(phrase("NP", *leaves_of))) == ["An", "honest", "film"]
    leaves_of[1] = word("useless", "JJ").to("amod")
    assert words(finish(phrase("NP", *leaves_of))) == ["A", "useless", "film"]


def test_meanings_combine_as_documented():
    funny, dull = Value(1), Value(-1)
    assert compose(funny, Value(-1, mark="but")) == dull
    assert compose(Value(1, mark="although"), dull) == dull
    assert compose(dull, Value(-2, mark="and")) == Value(-2)
    assert compose(funny, Value(-1, asserted=True)) == Value(-1, asserted=True)
    assert compose(funny, Value(0, asserted=True)) == Value(1, asserted=True)
    waiting = Operator("negate", waits=True)
    assert compose(waiting, Value(0)) == waiting
    assert label_of(waiting) == 2
    with pytest.raises(ValueError, match="does not combine"):
        compose(Operator("negate"), Operator("negate"))


def test_unnatural_phrases_are_refused():
    assert checked_meaning(("slow", ("but", "good"))) == Value(1)
    for tree in (
        ("slow", ("and", "good")),
        ("good", ("but", "superb")),
        ("it", ("lacks", "clichés")),
        ("it", ("needs", ("more", "clichés"))),
        ("dull", ("superb", "film")),
    ):
        with pytest.raises(UnnaturalError):
            checked_meaning(tree)


def test_twins_have_the_same_words_and_can_have_other_labels():
    node = sentence(film("funny"), "dull")
    ((size, first, second),) = exchanges(node)
    twin = exchanged(node, first, second)
    assert size == 2
    assert words(twin) == ["the", "dull", "film", "is", "funny", "."]
    assert same_words(node, twin)
    assert [label_of(meaning_of(binary(tree))) for tree in (node, twin)] == [1, 3]


def test_words_that_fit_only_one_of_two_places_stay():
    node = sentence(film("funny"), "dull")
    described = word("tasty", "JJ", slot="adjective/food/any")
    assert exchanges(phrase("S", node, described)) == exchanges(phrase("S", node, word("x", "JJ")))


def test_second_mentions_become_pronouns():
    first = sentence(film("dull", slot="noun phrase/story"), "long", ",")
    second = sentence(film(slot="noun phrase/story"), "funny")
    both = with_pronouns(phrase("S", first, second), "film")
    assert words(both) == ["the", "dull", "film", "is", "long", ",", "it", "is", "funny", "."]


def test_examples_in_the_readme_are_in_the_data(embedded):
    readme = (embedded / "README.md").read_text(encoding="utf-8")
    rows = [row.strip("| ").split(" | ") for row in readme.splitlines() if row.startswith("| ")]
    examples = {
        (label, text) for label, text in (row for row in rows if len(row) == 2) if label in "01234"
    }
    trees = [tree for part in ("train", "dev", "test") for tree in treebank(embedded, part)]
    known = {(tree.label, " ".join(leaf.word for leaf in leaves(tree))) for tree in trees}
    assert len(examples) == 6
    assert examples <= known
    files = [path.read_text(encoding="utf-8") for path in sorted(embedded.glob("*/*.txt"))]
    for block in readme.split("```")[1::2]:
        for line in block.splitlines()[1:]:
            if not line.startswith("python "):
                assert any(f"{line}\n" in text for text in files), line
    assert bracketed(readme.split("```")[3].strip()).label == "3"
