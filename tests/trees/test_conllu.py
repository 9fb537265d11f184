from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import dependency_trees, odd_text

from graphsent.trees import DependencyTree, parse_conllu, read_conllu, to_conllu, write_conllu
from graphsent.trees.errors import (
    BadNumber,
    Cycle,
    EmptySentence,
    HeadOutOfRange,
    NoRoot,
    SeveralRoots,
    TreeError,
    UnwritableTree,
    WrongColumns,
)

SENTENCE = """\
# newdoc
# sent_id = 1
# text = vámonos al = mar
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\tV\tMood=Imp\t0\troot\t_\tLabel=3
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t2.1:obj\tSpaceAfter=No|Label=4%7C
2.1\tya\t_\t_\t_\t_\t_\t_\t_\t_
3\tal mar\tmar\tNOUN\t_\t_\t1\tobl\t_\t_
"""

OTHER_LINES = [line for line in SENTENCE.split("\n") if line.startswith(("1-2", "2.1"))]


def word_line(number, head, form="a"):
    return f"{number}\t{form}\t_\t_\t_\t_\t{head}\t_\t_\t_\n"


def test_columns_that_are_kept():
    (tree,) = parse_conllu(SENTENCE)
    assert tree == DependencyTree(
        ["vamos", "nos", "al mar"],
        [-1, 0, 0],
        labels=["3", "4|", ""],
        relations=["root", "obj", "obl"],
        upos=["VERB", "PRON", "NOUN"],
        xpos=["V", "", ""],
        lemmas=["ir", "nosotros", "mar"],
        feats=["Mood=Imp", "", ""],
        deps=["", "2.1:obj", ""],
        misc=["", "SpaceAfter=No", ""],
        metadata={"newdoc": "", "sent_id": "1", "text": "vámonos al = mar"},
        other_lines=[
            (0, "1-2\tvámonos" + 8 * "\t_"),
            (2, "2.1\tya" + 8 * "\t_"),
        ],
    )


def test_what_was_read_is_written():
    (tree,) = parse_conllu(SENTENCE)
    assert to_conllu(tree) == SENTENCE


def test_labels_are_replaced_among_other_annotations():
    (tree,) = parse_conllu("1\ta\t_\t_\t_\t_\t0\t_\t_\tLabel=1|Gloss=one |Label=2\n")
    assert (tree.labels, tree.misc) == (("1",), ("Gloss=one",))
    for label, written in (("3", "Gloss=one|Label=3"), ("", "Gloss=one")):
        text = to_conllu(tree.replace(labels=[label]))
        assert text.removesuffix("\n").split("\t")[-1] == written


def test_labels_are_readable_where_they_can_be():
    text = to_conllu(DependencyTree(["a"], [-1], labels=["+/- (é %|)"]))
    assert text.endswith("\tLabel=+/-%20(%C3%A9%20%25%7C)\n")


@st.composite
def odd_dependency_trees(draw):
    tree = draw(dependency_trees(max_words=5, labels=odd_text(min_size=0), words=odd_text()))
    columns = {
        name: [draw(odd_text(min_size=0)) for _ in tree.words]
        for name in ("relations", "upos", "xpos", "lemmas", "feats", "deps", "misc")
    }
    columns["misc"] = [text.rstrip() for text in columns["misc"]]
    places = st.tuples(st.integers(0, tree.num_nodes), st.sampled_from(OTHER_LINES))
    names = odd_text().map(lambda name: name.replace("=", "").strip()).filter(bool)
    values = odd_text(min_size=0).map(str.strip)
    return DependencyTree(
        tree.words,
        tree.heads,
        labels=tree.labels,
        metadata=draw(st.dictionaries(names, values, max_size=3)),
        other_lines=sorted(draw(st.lists(places, max_size=3)), key=lambda place: place[0]),
        **columns,
    )


@given(st.lists(odd_dependency_trees(), max_size=3))
def test_round_trip(trees):
    assert parse_conllu("\n".join(map(to_conllu, trees))) == trees


@pytest.mark.parametrize("name", ["trees.conllu", "trees.conllu.gz"])
def test_files_round_trip(tmp_path, name):
    path = tmp_path / name
    trees = parse_conllu(SENTENCE + "\n" + SENTENCE.replace("= 1", "= 2"))
    write_conllu(path, iter(trees))
    assert read_conllu(path) == trees
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == name.endswith("gz")


def test_line_ends_byte_order_marks_and_empty_lines(tmp_path):
    path = tmp_path / "trees.conllu"
    text = "\n\n" + SENTENCE + " \n\n\n" + SENTENCE
    path.write_bytes(("\ufeff" + text.replace("\n", "\r\n")).encode())
    assert read_conllu(path) == parse_conllu(text)
    assert len(parse_conllu(text)) == 2
    assert parse_conllu("") == []


BROKEN = [
    (word_line(1, 2) + word_line(2, 1), NoRoot, 1, 7, "no word has head 0: expected one root"),
    (word_line(1, 0) + word_line(2, 0), SeveralRoots, 2, 7, "words 1 and 2 both have head 0"),
    (word_line(1, 0) + word_line(2, 3), HeadOutOfRange, 2, 7, "has head 3: expected 0 to 2"),
    (word_line(1, 0) + word_line(2, 2), Cycle, 2, 7, "word 2 is below itself"),
    ("1-2" + word_line(1, 0)[1:] + word_line(1, 2) + word_line(2, 1), NoRoot, 2, 7, "no word"),
    ("# é\n" + word_line(1, "x", "été"), BadNumber, 2, 7, "head 'x': expected an integer"),
    (word_line(1, "_"), BadNumber, 1, 7, "head '_': expected an integer"),
    (word_line(1, "-1"), BadNumber, 1, 7, "head '-1': expected an integer"),
    (word_line("one", 0), BadNumber, 1, 1, "word id 'one': expected an integer, a range"),
    (word_line("²", 0), BadNumber, 1, 1, "word id '²'"),
    (word_line(1, 10**9), BadNumber, 1, 7, "head '1000000000': expected an integer"),
    (word_line(1, 0) + word_line(3, 1), BadNumber, 2, 1, "word id 3: expected 2"),
    (word_line(2, 0), BadNumber, 1, 1, "word id 2: expected 1"),
    (word_line(1, 0)[:-3] + "\n", WrongColumns, 1, 1, "9 columns: expected 10"),
    (word_line(1, 0)[:-1] + "\t_\n", WrongColumns, 1, 1, "11 columns: expected 10"),
    (word_line(1, 0).replace("\t", "  "), WrongColumns, 1, 1, "1 columns: expected 10, separated"),
    (word_line(1, 0, ""), WrongColumns, 1, 1, "an empty column or one with two consecutive spaces"),
    (
        word_line(1, 0, "a  b"),
        WrongColumns,
        1,
        1,
        "an empty column or one with two consecutive spaces",
    ),
    (" " + word_line(1, 0), WrongColumns, 1, 1, "an empty column"),
    ("# text = a\n", EmptySentence, 1, 1, "comments without words"),
    ("1.1" + word_line(1, "_")[1:], EmptySentence, 1, 1, "expected at least one word"),
]


# Whitespace to str.strip(), and so to the library that parses lines.
BLANKS = [" ", "\u00a0", "\x85", "\x0b", "\x0c", "\x1c", "\u2028", "\u3000", "\r\x0b"]
BROKEN += [
    (word_line(1, 0)[:-2] + blank + "\n", WrongColumns, 1, 1, "an empty column or one with two")
    for blank in BLANKS
]


@pytest.mark.parametrize(("text", "error", "line", "column", "message"), BROKEN)
def test_broken_sentences(text, error, line, column, message):
    before = word_line(1, 0) + "\n"
    columns = text.split("\n")[line - 1].split("\t")
    column = len("\t".join(columns[: column - 1])) + (column > 1) + 1
    with pytest.raises(error, match=message) as caught:
        parse_conllu(before + text, "some.conllu")
    assert type(caught.value) is error
    found = (caught.value.source, caught.value.line, caught.value.column)
    assert found == ("some.conllu", line + 2, column)


ODD_COLUMNS = st.one_of(
    st.text("_#=|%0123-. \t\n\r\0\ufeff²" + "".join(BLANKS), max_size=4), st.just("Label=%FF")
)


def fault(text):
    """Line and column of the error in a text; None if there is none."""
    try:
        assert parse_conllu(text, "some.conllu")
    except TreeError as error:
        return error.source, error.line
    return None


@given(st.lists(st.lists(ODD_COLUMNS | st.just("1"), min_size=8, max_size=11), max_size=4))
def test_anything_is_trees_or_an_error_with_its_place(rows):
    text = SENTENCE + "".join("\t".join(row) + "\n" for row in rows)
    assert fault(text) is None or None not in fault(text)


@given(st.integers(1, SENTENCE.count("\n")), st.integers(0, 9), ODD_COLUMNS)
def test_any_column_may_be_odd(line, column, value):
    lines = [each.split("\t") for each in SENTENCE.split("\n")]
    if column < len(lines[line - 1]):
        lines[line - 1][column] = value
    text = "\n".join(map("\t".join, lines))
    assert fault(text) is None or None not in fault(text)


def test_half_a_character_is_not_written(tmp_path):
    for half in (DependencyTree(["\ud800"], [-1]), DependencyTree(["a"], [-1], labels=["\ud800"])):
        with pytest.raises(UnwritableTree, match=r"'\\ud800'"):
            write_conllu(tmp_path / "trees.conllu", [half])
    with pytest.raises(UnwritableTree, match="latin-1 cannot write '字'"):
        write_conllu(tmp_path / "trees.conllu", [DependencyTree(["字"], [-1])], encoding="latin-1")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"words": ["a\tb"]}, r"word 1 has column 'a\\tb': expected one without tabs"),
        ({"lemmas": ["a  b"]}, "word 1 has column 'a  b'"),
        ({"xpos": ["a\n"]}, "word 1 has column"),
        ({"metadata": {"a=b": "c"}}, "metadata 'a=b': 'c': expected a name without '='"),
        ({"metadata": {"a": "b\nc"}}, "both on one line"),
        ({"metadata": {"a": "b "}}, "without surrounding whitespace"),
        ({"metadata": {"": "b"}}, "expected a name"),
        ({"misc": ["a|Label=3"]}, "misc 'a|Label=3': expected no whitespace at its end, and no La"),
        ({"misc": ["a "]}, "misc 'a ': expected no whitespace at its end"),
        ({"other_lines": [(0, word_line(1, 0)[:-1])]}, "expected that of a word range"),
        ({"other_lines": [(0, OTHER_LINES[0] + "\n")]}, "expected that of a word range"),
        ({"other_lines": [(0, "1-2\ta")]}, "with 10 columns"),
    ],
)
def test_trees_that_the_format_cannot_hold(tmp_path, changed, message):
    tree = DependencyTree(**{"words": ["a"], "heads": [-1], **changed})
    with pytest.raises(UnwritableTree, match=message):
        write_conllu(tmp_path / "trees.conllu", [tree])
    assert list(tmp_path.iterdir()) == []
