"""User files: every format, the meaning of columns, and every kind of bad line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from graphsent.errors import DataError
from graphsent.tasks.own.examples import BadLine
from graphsent.tasks.own.reader import OwnFile, read_examples
from graphsent.trees import DependencyTree, Tree

CONLLU = """# label = pos
1\tgood\t_\t_\t_\t_\t2\tamod\t_\t_
2\tfilm\t_\t_\t_\t_\t0\troot\t_\t_

# label = neg
1\tdull\t_\t_\t_\t_\t0\troot\t_\t_
"""


@pytest.fixture
def write(tmp_path):
    def write(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return str(path)

    return write


def examples_in(path, **options):
    """The examples of a file one by one; its first bad line is an error."""
    for example in read_examples(OwnFile(Path(path), **options)):
        if isinstance(example, BadLine):
            raise DataError(example.message)
        yield example


def found(path, **options):
    """Line, label and texts of each example."""
    return [(each.line, each.label, *each.contents) for each in examples_in(path, **options)]


@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "a", "a.tsv.gz"])
def test_a_label_a_tab_and_a_sentence(write, name):
    path = write(name, 'pos\ta good film\r\n\n very bad \t dull "quoted\n')
    assert found(path) == [(1, "pos", "a good film"), (3, "very bad", 'dull "quoted')]


def test_a_byte_order_mark_is_not_part_of_a_label(write):
    assert found(write("a.tsv", "\ufeffpos\tgood\n")) == [(1, "pos", "good")]


def test_csv_with_quotes_and_line_ends_in_cells(write):
    path = write("a.csv", 'id,text,label\n1,"good, ""really""\nfilm",pos\n\n2,dull,neg\n')
    assert found(path) == [(2, "pos", 'good, "really"\nfilm'), (5, "neg", "dull")]


def test_csv_with_a_chapter_in_a_cell(write):
    chapter = "\n".join(["pos,a line of the cell"] * 10_000)  # longer than the csv module's limit
    path = write("a.csv", f'label,text\npos,fine\nneg,"{chapter}"\npos,last\n')
    assert [(line, label) for line, label, _ in found(path)] == [
        (2, "pos"),
        (3, "neg"),
        (10_003, "pos"),
    ]


def test_csv_with_semicolons_or_tabs(write):
    assert found(write("a.csv", "label;text\npos;good, fine\n")) == [(2, "pos", "good, fine")]
    assert found(write("b.csv", "label\ttext\npos\tgood, fine\n")) == [(2, "pos", "good, fine")]


def test_json_lines(write):
    rows = [
        {"text": "good", "label": 1},
        {"label": True, "text": "bad"},
        {"text": "x", "label": 2.5},
    ]
    path = write("a.jsonl.gz", "\n".join(map(json.dumps, rows)))
    assert found(path) == [(1, "1", "good"), (2, "true", "bad"), (3, "2.5", "x")]


def test_a_file_with_a_single_label(write):
    path = write("a.txt", "a good film\n\nlabel\tnone\n")
    assert found(path, label="pos") == [(1, "pos", "a good film"), (3, "pos", "label\tnone")]


def test_bracketed_trees_with_any_labels(write):
    path = write("a.txt", "(very-good (ok a)\n  (bad film))\n(bad x)\n")
    (first, tree), (second, _) = [(each.line, each.contents[0]) for each in examples_in(path)]
    assert (first, second) == (1, 3)
    assert tree == Tree.from_string("(very-good (ok a) (bad film))")
    assert [each.label for each in examples_in(path)] == ["very-good", "bad"]
    assert [each.label for each in examples_in(write("b.txt", "\n  (good a)\n"))] == ["good"]


def test_lines_between_bracketed_trees(write):
    path = Path(write("a.txt", b"(2 good)\n\n(1 bad)\n(0 caf\xe9)\n(1 dull)\n"))
    rows = list(read_examples(OwnFile(path)))
    assert [row.line for row in rows] == [1, 3, 4, 5]
    assert [isinstance(row, BadLine) for row in rows] == [False, False, True, False]
    assert "0xE9" in rows[2].message


def test_trees_in_a_column_have_no_phrase_labels(write):
    path = write("a.tsv", "pos\t(S (NP a) (VP b))\nneg\t(S c)\n")
    trees = [each.contents[0] for each in examples_in(path)]
    assert [tree.words for tree in trees] == [["a", "b"], ["c"]]
    assert {label for tree in trees for label in tree.labels} == {""}
    assert found(path, input="text")[0] == (1, "pos", "(S (NP a) (VP b))")


def test_a_sentence_in_brackets_is_not_a_tree(write):
    assert found(write("a.tsv", "pos\t(good film)\n")) == [(1, "pos", "(good film)")]


def test_a_label_in_brackets_is_not_a_tree(write):
    assert found(write("a", "(pos)\tgood\n")) == [(1, "(pos)", "good")]
    assert found(write("a.tsv", "(pos\tgood\n")) == [(1, "(pos", "good")]
    (tree,) = (each.contents[0] for each in examples_in(write("b", "(pos\t(a good))\n")))
    assert tree == Tree.from_string("(pos (a good))")


def test_conllu_with_labels_in_comments(write):
    examples = list(examples_in(write("a.conllu.gz", CONLLU)))
    assert [(each.line, each.label) for each in examples] == [(1, "pos"), (5, "neg")]
    assert all(isinstance(each.contents[0], DependencyTree) for each in examples)
    of_one_label = examples_in(write("a.conllu", CONLLU), label="other")
    assert [each.label for each in of_one_label] == ["other", "other"]


def test_pairs_by_the_names_of_their_columns(write):
    path = write("a.tsv", "id\tsentence_A\tsentence_B\tjudgment\n1\ta b\tc d\tYES\n")
    assert found(path, label_column="judgment") == [(2, "YES", "a b", "c d")]
    path = write("b.csv", "q,r,label\na b,c d,1\n")
    assert found(path, text_columns=("q", "r")) == [(2, "1", "a b", "c d")]


@pytest.mark.parametrize(
    ("header", "options", "expected"),
    [
        ("Label\tText", {}, ("1", "2")),
        ("sentence\tlabel", {}, ("2", "1")),
        ("id\tstars\treview", {}, ("2", "3")),
        ("id\tlabel\ttext\tother", {"text_columns": ("other",)}, ("2", "4")),
        ("id\tlabel\ttext\tother", {"label_column": "other"}, ("4", "3")),
        ("what\tever", {"label_column": "ever"}, ("2", "1")),
        ("what\tever", {"text_columns": ("ever",)}, ("1", "2")),
        ("label\ttext", {"text_columns": ("label",)}, ("2", "1")),
        ("text\tother", {"label_column": "text"}, ("1", "2")),
        ("label\tx\ty", {"label_column": "label", "text_columns": ("3",)}, ("1", "3")),
    ],
)
def test_columns_by_name(write, header, options, expected):
    cells = "\t".join(map(str, range(1, header.count("\t") + 2)))
    ((_, label, text),) = found(write("a.tsv", f"{header}\n{cells}\n"), **options)
    assert (label, text) == expected


@pytest.mark.parametrize("row", ["label\tdata", "cls\tsentence", "question\tWhy?", "text\tcls"])
def test_a_first_row_with_one_usual_name_may_be_a_header_or_an_example(write, row):
    path = write("a.tsv", f"{row}\npos\tgood\n")
    with pytest.raises(DataError, match=r"a\.tsv:1: '.*, '.*: a header or an example\?"):
        found(path)
    label, text = row.split("\t")
    as_header = found(path, label_column=label, text_columns=(text,))
    assert as_header == [(2, "pos", "good")]
    as_example = found(path, label_column="1", text_columns=("2",))
    assert as_example == [(1, label, text), (2, "pos", "good")]


def test_a_label_that_is_a_usual_name_of_texts_is_no_header(write):
    path = write("a.tsv", "question\tWho was it ?\nanswer\tNobody .\n")
    assert found(path) == [(1, "question", "Who was it ?"), (2, "answer", "Nobody .")]


def test_columns_by_number_mean_that_there_is_no_header(write):
    path = write("a.csv", '"0","x","bad"\n"4","y","good"\n')
    options = {"label_column": "1", "text_columns": ("3",)}
    assert found(path, **options) == [(1, "0", "bad"), (2, "4", "good")]


def test_numbers_in_the_first_example_are_no_names_of_columns(write):
    path = write("a.csv", "1,a bad film\n0,a good film\n")
    rows = [(1, "1", "a bad film"), (2, "0", "a good film")]
    assert found(path, label_column="1", text_columns=("2",)) == rows
    assert found(path, label_column="1") == rows
    header = write("b.csv", "2,1\npos,good\n")
    assert found(header, label_column="2", text_columns=("1",)) == [(2, "pos", "good")]


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("a.csv", "x,y,z\n", {}, r"a\.csv:1: which column holds the label\? .*'x', 'y', 'z'"),
        ("a.csv", "\n \nx,y,z\n", {}, r"a\.csv:3: which column holds the label"),
        ("a.csv", "label,y,z\n", {}, "which column holds the text"),
        ("a.csv", "id,text,other\n", {}, "which column holds the label"),
        ("a.csv", "pos,a good film\n", {}, "which column holds the label"),
        ("a.csv", "sentence1,sentence2\n", {}, "which column holds the label"),
        (
            "a.csv",
            "question,sentence,label\n",
            {},
            "the text\\? Name one of 'question', 'sentence' w",
        ),
        ("a.csv", "text,label,Comment\n", {}, "the text\\? Name one of 'text', 'Comment' with"),
        (
            "a.csv",
            "id,label,text\n1,pos,good\n",
            {"label_column": "2", "text_columns": ("3",)},
            "looks like a header, but columns given by number mean that there is none",
        ),
        ("a.csv", "x,y,label\n", {"text_columns": ("xx",)}, "no column 'xx': .* mean 'x'"),
        ("a.csv", "x,y,label\n", {"text_columns": ("0",)}, "no column '0'"),
        ("a.csv", "x,y,label\n", {"text_columns": ("4",)}, "no column '4'"),
        ("a.csv", "x,y,label\n", {"text_columns": ("²",)}, "no column '²'"),
        ("a.csv", "text,text,label\n", {}, "the column 'text' occurs 2 times"),
        ("a.tsv", "a\tb\tc\n", {}, r"a\.tsv:1: which column holds the label"),
        ("a.tsv", "only a sentence\n", {}, "no tab in 'only a sentence': expected label<TAB>sent"),
        ("a.tsv", "pos\tgood\nneg\tbad\textra\n", {}, r"a\.tsv:2: expected 2 columns, .* got 3"),
        ("a.tsv", "pos\tgood\n\tbad\n", {}, r"a\.tsv:2: the label is empty"),
        ("a.tsv", "pos\tgood\nneg\t \n", {}, r"a\.tsv:2: the text is empty"),
        ("a.tsv", "pos\tgo\0od\n", {}, r"a\.tsv:1:7: a NUL character"),
        ("a.tsv", b"pos\tcaf\xe9\n", {}, r"a\.tsv:1:8: 0xE9 is not valid UTF-8 .* latin-1"),
        ("a.tsv", "pos\tgood\n".encode("utf-16"), {}, r"a\.tsv:1:1: .* \(--encoding utf-16\)"),
        ("a.tsv", b"\xff is not UTF-16\n", {}, r"a\.tsv:1:1: .* \(--encoding latin-1\)"),
        ("a.csv", b"label,text\npos,caf\xe9\n", {}, r"a\.csv:2:8: 0xE9 is not valid UTF-8"),
        ("a.csv", 'label,text\npos,"never closed\n', {}, r"a\.csv:2: .* is a quote never closed"),
        ("a.csv", 'label,text\npos,"a" b\n', {}, r"a\.csv:2: .* expected CSV"),
        ("a.csv", "label,text\npos," + "x" * (1 << 25) + "\n", {}, r"a\.csv:2: field larger"),
        ("a.jsonl", '{"label": 1, "text": "x"}\n{"label"\n', {}, r"a\.jsonl:2: expected one JSON"),
        (
            "a.jsonl",
            '{"label": 1, "text": "x"}\n{"text": "x", "label": 1, "text": "y"}\n',
            {},
            r"a\.jsonl:2: expected one JSON object per line: the key 'text' occurs twice",
        ),
        ("a.jsonl", "[1, 2]\n", {}, "expected one JSON object per line, got"),
        ("a.jsonl", "{}\n", {}, "expected one JSON object per line, got '{}'"),
        ("a.jsonl", '{"label": 1, "text": "x"}\n[1, 2]\n', {}, r"2: expected one JSON object"),
        ("a.jsonl", '{"label": "a\\tb", "text": "x"}\n', {}, "a label of one line, without tabs"),
        ("a.jsonl", '{"label": "a\\nb", "text": "x"}\n', {}, "a label of one line, without tabs"),
        ("a.jsonl", '{"label": 1, "text": 3}\n', {}, "expected a string as 'text', got 3"),
        ("a.jsonl", '{"label": [1], "text": "x"}\n', {}, "a string or a number as 'label', got"),
        (
            "a.jsonl",
            '{"label": NaN, "text": "x"}\n',
            {},
            "a string or a number as 'label', got nan",
        ),
        ("a.jsonl", '{"label": -Infinity, "text": "x"}\n', {}, "or a number as 'label', got -inf"),
        ("a.txt", "(S (A a) (B b))\n(S (A a) (B b)\n", {}, r"a\.txt:2: "),
        ("a.txt", "(S a)\n(S (A a)\n   (B b) c)\n", {}, r"a\.txt:3: token 'c' follows"),
        ("a.txt", "(S a) (S b)\n", {}, "expected one bracketed tree, got 2 trees"),
        ("a.txt", "(S a)\n( (A a) (B b))\n", {}, r"a\.txt:2: the root has no label"),
        ("a.tsv", "p\t(S (A a) (B b))\np\tno tree\n", {}, r"a\.tsv:2: "),
        ("a.conllu", CONLLU.replace("# label = neg\n", ""), {}, "the sentence has no label: "),
        ("a.conllu", CONLLU.replace("\t2\tamod", "\tx\tamod"), {}, r"a\.conllu:2:"),
        ("a.csv", "label,text\n", {"label": "pos"}, "expected one sentence or tree per line"),
        ("a.tsv", "pos\tgood\n", {"encoding": "utf-99"}, "unknown encoding 'utf-99'"),
        ("a.tsv", "pos\tgood\n", {"encoding": "base64"}, "'base64' is not a text encoding"),
        ("a.tsv", "pos\tgood\n", {"input": "tree"}, "unknown input 'tree': .* mean 'trees'"),
    ],
)
def test_errors_name_the_line(write, name, text, options, message):
    with pytest.raises(DataError, match=message):
        found(write(name, text), **options)


def test_missing_files(tmp_path):
    for path in (tmp_path / "none.tsv", tmp_path, tmp_path / "none.tsv.gz"):
        with pytest.raises(DataError, match="cannot read"):
            found(path)
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress(b"pos\tgood\n" * 1000)[:-20])
    with pytest.raises(DataError, match="cannot read"):
        found(path)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
def test_other_encodings(write, encoding):
    path = write("a.tsv", "gut\tschöner Film\nübel\töde\n".encode(encoding))
    assert found(path, encoding=encoding) == [(1, "gut", "schöner Film"), (2, "übel", "öde")]


def test_a_wrong_encoding(write):
    path = write("a.tsv", "gut\tFilm\ngut\tein Film\ngut\tschöner Film\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"near line 3: .* is this its encoding"):
        found(path, encoding="ascii")
    with pytest.raises(DataError, match=r"near line 1: .* is this its encoding"):
        found(path, encoding="utf-16")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", '[\n{"label": 1, "text": "x"},\n{"label": 2, "text": "y"}\n]\n', "a JSON array"),
        ("a.json.gz", '\n [{"label": 1, "text": "x"}]', "a JSON array: expected one JSON object"),
        ("a.csv", "label,text\npos,good\n".encode("utf-16"), "a UTF-16 byte-order mark"),
        ("a", b"\xfe\xff" + "pos\tgood\n".encode("utf-16-be"), "a UTF-16 byte-order mark"),
        (
            "a.tsv",
            gzip.compress(b"pos\tgood\n" * 10, mtime=0),
            "gzipped data: expected text, or a file",
        ),
        (
            "a.csv",
            gzip.compress(b"label,text\n" * 10, mtime=0),
            "gzipped data: expected text, or a file",
        ),
        ("a.tsv", "pos\tgood\rneg\tbad\r", "lines end in carriage returns alone"),
        ("a.csv", "label,text\rpos,good\r", "lines end in carriage returns alone"),
    ],
)
def test_a_file_of_another_format_is_one_error(write, name, content, message):
    with pytest.raises(DataError, match=message):
        list(read_examples(OwnFile(Path(write(name, content)))))


def test_a_carriage_return_within_a_line(write):
    assert len(found(write("a.tsv", "pos\tgood \r film\r\nneg\tbad\r\n"))) == 2
    assert len(found(write("b.tsv", "pos\tgood film\r\n"))) == 1


def test_reading_continues_after_bad_lines(write):
    text = 'label,text\npos,good\nneg\nneg,\npos,"x" y\nneg,bad\n'
    rows = list(read_examples(OwnFile(Path(write("a.csv", text)))))
    assert [row.line for row in rows] == [2, 3, 4, 5, 6]
    assert [isinstance(row, BadLine) for row in rows] == [False, True, True, True, False]


def test_a_csv_row_with_two_mistakes_is_one_bad_line(write):
    path = write("a.csv", b'label,text\npos,"bad"x\xff quote\nneg,Bad film.\n')
    bad, good = read_examples(OwnFile(Path(path)))
    assert isinstance(bad, BadLine)
    assert (bad.line, "0xFF" in bad.message) == (2, True)
    assert (good.line, good.label) == (3, "neg")


def test_a_large_file_is_read_piece_by_piece(write):
    path = write("a.tsv", "pos\ta sentence of some words\n" * 200_000)
    first = next(examples_in(path))
    assert first == (1, "pos", ("a sentence of some words",))
