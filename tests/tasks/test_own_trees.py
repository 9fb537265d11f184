"""The task `own`: trees, of the data themselves or in files beside them."""

from __future__ import annotations

import pytest
from own_files import own_examples, write_trees

from graphsent.errors import DataError
from graphsent.sentences import Sentence
from graphsent.tasks import get_task
from graphsent.tasks.own.reader import OwnFile, read_examples
from graphsent.trees import DependencyTree, Tree


def test_trees_beside_the_sentences(tsv, tmp_path):
    trees = str(write_trees(tmp_path / "trees.txt"))
    data = get_task("own", train=str(tsv), train_trees=[trees]).load()
    tree = data.splits["train"][0]
    assert isinstance(tree, Tree)
    assert tree.labels[0] in ("0", "1")
    assert set(tree.labels[1:]) == {""}
    write_trees(tmp_path / "trees.txt", own_examples()[:59])
    with pytest.raises(DataError, match=r"has only 59 trees, but .* has more sentences"):
        get_task("own", train=str(tsv), train_trees=[trees]).load()
    write_trees(tmp_path / "trees.txt", [*own_examples(), ("neg", "one too many")])
    with pytest.raises(DataError, match="has more trees than the 60 sentences"):
        get_task("own", train=str(tsv), train_trees=[trees]).load()
    write_trees(tmp_path / "trees.txt", own_examples()[::-1])
    with pytest.raises(DataError, match=r"trees\.txt:1: the tree is of 'a awful idea', but"):
        get_task("own", train=str(tsv), train_trees=[trees]).load()


@pytest.mark.parametrize(
    ("text", "of_tree", "difference"),
    [
        ("good film", "bad film", "'badfilm' and 'goodfilm'"),
        ("good film", "good films", "'dfilms' and 'dfilm'"),
        (
            "a very good film of the year",
            "a very good plan of it",
            "'ygoodplanofit' and 'ygoodfilmofthey'",
        ),
    ],
)
def test_where_a_tree_differs_from_its_sentence(tsv, tmp_path, text, of_tree, difference):
    other, trees = tmp_path / "other.tsv", tmp_path / "other.trees"
    other.write_text(f"pos\t{text}\n")
    trees.write_text(f"(S {' '.join(f'(W {word})' for word in of_tree.split())})\n")
    with pytest.raises(DataError, match=f": the first letters that differ are in {difference}$"):
        get_task("own", train=str(tsv)).read(other, [trees])


def test_pairs_have_two_files_of_trees(tmp_path):
    pairs, trees = tmp_path / "pairs.tsv", tmp_path / "trees.txt"
    pairs.write_text("label\ttext1\ttext2\npos\ta\tb\n")
    trees.write_text("(S (A a) (B b))\n")
    task = get_task("own", train=str(pairs), train_trees=[str(trees)])
    with pytest.raises(DataError, match="one file of trees for each of 2 text columns, got 1"):
        task.load()


def test_another_file_and_its_trees_as_parse_writes_them(tsv, tmp_path):
    other, trees = tmp_path / "other.tsv", tmp_path / "other.trees"
    other.write_text("pos\tgood film\nneg\tbad film\n")
    trees.write_text("pos\t(S (A good) (B film))\nneg\t\nneg\t(S (A bad) (B film))\n")
    task = get_task("own", train=str(tsv))
    expected = [Sentence(["good", "film"], "1"), Sentence(["bad", "film"], "0")]
    assert task.read(other) == expected
    found = task.read(other, [trees])
    assert list(map(str, found)) == ["(1 ( good) ( film))", "(0 ( bad) ( film))"]
    trees.write_text("(neg (pos good) (neg film))\n( (pos bad) (neg film))\n")
    assert list(map(str, task.read(other, [trees]))) == list(map(str, found))  # no phrase labels
    trees.write_bytes(b"pos\t(S (A good) (B film))\ncaf\xe9\t\nneg\t(S (A bad) (B film))\n")
    with pytest.raises(DataError, match=r"other\.trees:2:4: 0xE9 is not valid UTF-8"):
        task.read(other, [trees])
    trees.write_text("pos\t(S (A good) (B film))\nneg\t(S (A bad\n")
    with pytest.raises(DataError, match=r"other\.trees:2: the bracket .* is not closed"):
        task.read(other, [trees])


def test_another_file_and_its_dependency_trees(tsv, tmp_path):
    other, trees = tmp_path / "other.tsv", tmp_path / "other.conllu"
    other.write_text("pos\tgood film\n")
    word = "{}\t{}\t_\t_\t_\t_\t{}\t_\t_\t_\n"
    trees.write_text(word.format(1, "good", 2) + word.format(2, "film", 0) + "\n")
    (tree,) = get_task("own", train=str(tsv)).read(other, [trees])
    assert tree == DependencyTree(["good", "film"], [1, -1], labels=["", "1"])


def test_trees_are_in_the_encoding_of_the_data(tsv, tmp_path):
    other, trees = tmp_path / "other.tsv", tmp_path / "other.trees"
    other.write_text("pos\tschöner Film\n", encoding="latin-1")
    trees.write_text("(S (A schöner) (B Film))\n", encoding="latin-1")
    (tree,) = get_task("own", train=str(tsv), encoding="latin-1").read(other, [trees])
    assert list(tree.words) == ["schöner", "Film"]


def test_phrase_labels_count_if_they_are_sentence_labels(tmp_path):
    path = tmp_path / "a.txt"
    line = "({0} (x a) ({0} (y {2}) (z {3})))\n"
    path.write_text("".join(line.format(label, *text.split()) for label, text in own_examples()))
    task = get_task("own", train=str(path))
    tree = task.load().splits["train"][0]
    assert tree.labels[0] == tree.labels[2]
    assert tree.labels[0] in ("0", "1")
    assert tree.labels[1] == tree.labels[3] == ""


def test_a_model_of_trees_needs_trees(tsv, tmp_path):
    with pytest.raises(DataError, match=r"my\.tsv holds sentences, .*--train-trees FILE"):
        get_task("own", train=str(tsv)).load()
    trees = str(write_trees(tmp_path / "trees.txt"))
    message = r"the trees of \S+my\.tsv are constituency trees, but the model reads dependency"
    with pytest.raises(DataError, match=f"{message} trees: add --tree-kind constituency if it"):
        get_task("own", train=str(tsv), train_trees=trees).load(tree_kind="dependency")


@pytest.mark.data
def test_movie_reviews_as_trees(parses_dir):
    data = get_task("own", train=str(parses_dir / "mr.trees.gz")).load()
    assert [len(data.splits[split]) for split in ("train", "dev", "test")] == [8530, 1066, 1066]
    first = next(read_examples(OwnFile(parses_dir / "mr.conllu.gz")))
    assert (first.label, first.contents[0].words[:2]) == ("neg", ("simplistic", ","))
