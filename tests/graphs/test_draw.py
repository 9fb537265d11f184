from __future__ import annotations

import itertools
import random
import subprocess
import sys
from xml.etree import ElementTree

import nltk
import numpy as np
import pytest
import torch
from graph_checks import DIRECTIONS
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import assert_no_overlap, texts
from strategies import chain_tree, dependency_trees, random_dependency_tree, random_tree, trees

from graphsent._dgl import dgl
from graphsent.drawing.palette import class_colors
from graphsent.errors import DataError
from graphsent.graphs import (
    constituency_batch,
    constituency_graph,
    dependency_graph,
    draw_tree,
    reverse,
)
from graphsent.trees import DependencyTree, Tree

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("matplotlib.backends.backend_agg")
pytest.importorskip("matplotlib.image")
pytest.importorskip("matplotlib.figure")

PENN_LABELS = ("S", "NP", "VP", "ADJP-PRD", "WHADVP", "NN", "-LRB-", "X+Y+Z", "")
LONG_WORDS = ("a", "lovely", "$", "Schwarzenegger", ".", "tragicomedy", "is", "_x^2_", "$5$")
every_direction = pytest.mark.parametrize("direction", DIRECTIONS)


def tree() -> Tree:
    return Tree("32334", [None, "a", None, "lovely", "film"], [-1, 0, 0, 2, 2])


def long_sentence(labels=("0", "1", "2", "3", "4"), max_children=3) -> Tree:
    rng = random.Random(5)
    return random_tree(rng, 40, max_children, unary=0.1, labels=labels, words=LONG_WORDS)


def test_no_overlap_at_sixty_words_with_everything_shown():
    rng = random.Random(7)
    tree = random_tree(rng, 60, 3, words=LONG_WORDS)
    count = tree.num_nodes
    figure = draw_tree(
        tree,
        gold=[str((int(label) + 1) % 5) for label in tree.labels],
        probabilities=np.linspace(0.2, 1, count),
        edge_weights=np.linspace(0, 1, count - 1),
        weight_name="attention",
        title="Sixty words",
    )
    assert_no_overlap(figure)
    assert min(text.get_fontsize() for text in figure.axes[0].texts) >= 9


@pytest.mark.parametrize("labels", [("0", "1", "2", "3", "4"), PENN_LABELS])
@pytest.mark.parametrize("max_children", [2, 7])
def test_no_overlap_at_forty_words(labels, max_children):
    tree = long_sentence(labels, max_children)
    weights = torch.linspace(-1, 1, tree.num_nodes - 1)
    figure = draw_tree(tree, title="Forty words", edge_weights=weights, show_weights=True)
    assert_no_overlap(figure)
    assert texts(figure).count("$") == tree.words.count("$")


def test_no_overlap_in_dependency_trees_of_forty_words():
    rng = random.Random(6)
    tree = random_dependency_tree(rng, 40, words=LONG_WORDS)
    relations = rng.choices(("nsubj", "advmod", "nmod:poss", "root"), k=40)
    tree = DependencyTree(tree.words, tree.heads, labels=tree.labels, relations=relations)
    figure = draw_tree(tree)
    assert_no_overlap(figure)
    assert f"{relations[3]} {tree.labels[3]}" in texts(figure)


@every_direction
def test_no_overlap_in_graphs_of_forty_words(direction):
    tree = long_sentence()
    graph = constituency_graph(tree, direction)
    figure = draw_tree(graph, words=tree.words)
    assert_no_overlap(figure)
    assert_no_overlap(draw_tree(reverse(graph), words=tree.words))
    assert sorted(texts(figure)) == sorted(texts(draw_tree(tree)))


@settings(max_examples=15)
@given(trees(words=st.sampled_from(LONG_WORDS)) | dependency_trees())
def test_no_overlap(tree):
    assert_no_overlap(draw_tree(tree, title="A title longer than the sentence below it"))


@every_direction
@settings(max_examples=10)
@given(dependency_trees())
def test_every_dependency_graph_can_be_drawn(direction, tree):
    figure = draw_tree(dependency_graph(tree, direction), words=tree.words)
    assert set(tree.words) <= set(texts(figure))


def test_the_picture_grows_with_the_sentence():
    short, long = draw_tree(tree()), draw_tree(long_sentence())
    assert long.get_figwidth() > 3 * short.get_figwidth()


def test_texts_of_a_picture():
    legend = ["very negative", "negative", "neutral", "positive", "very positive"]
    figure = draw_tree(tree(), title="Title")
    assert sorted(texts(figure)) == sorted(
        ["Title", "a", "lovely", "film", *"32334", *legend, *"01234"]
    )
    assert "neutral" not in texts(draw_tree(tree(), legend=False))
    bare = draw_tree(tree(), legend=False, edge_weights=[1] * 4, probabilities=[1] * 5)
    assert sorted(texts(bare)) == sorted(
        ["a", "lovely", "film", *(f"{label} 1.00" for label in "32334")]
    )


def test_one_tree_of_a_batch_and_its_words():
    words = {word: number for number, word in enumerate(("a", "film", "lovely"))}
    graph = constituency_batch([tree(), "(1 (0 lovely) (1 film))"], vocab=words)
    assert sorted(texts(draw_tree(graph, index=1, legend=False))) == [*"011", "word 0", "word 1"]
    shown = texts(draw_tree(graph, index=1, vocab=words, legend=False))
    assert sorted(shown) == [*"011", "film", "lovely"]


@pytest.mark.parametrize("ordered", [True, False])
def test_nodes_have_the_colours_of_their_classes(ordered):
    figure = draw_tree(tree(), classes=5, ordered_classes=ordered)
    _, _, boxes = figure.axes[0].collections
    fills = [matplotlib.colors.to_hex(color) for color in boxes.get_facecolors()]
    of_class = [each.fill for each in class_colors(5, [], ordered_classes=ordered)]
    assert fills[:5] == [of_class[int(label)] for label in tree().labels]
    assert fills[5:] == of_class  # of the legend


def test_the_legend_names_only_classes_in_the_picture():
    names = [f"class-{number}" for number in range(50)]
    options = {"classes": names, "ordered_classes": False}
    figure = draw_tree(tree(), labels=[49, 7, 7, 7, 12], gold=[3, 7, 7, 7, 12], **options)
    legend = [text for text in texts(figure) if text.startswith("class-")]
    assert legend == ["class-3", "class-7", "class-12", "class-49"]
    assert figure.get_size_inches()[0] < 6
    odd = draw_tree(tree(), labels=[7] * 5, gold=["x", "99", "", "", ""], **options)
    assert [text for text in texts(odd) if text.startswith("class-")] == ["class-7"]
    few = draw_tree(tree(), labels=[0] * 5, **{**options, "classes": names[:9]})
    assert [text for text in texts(few) if text.startswith("class-")] == names[:9]
    assert "neutral" not in texts(draw_tree("(NP (DT a) (NN film))"))
    assert "bad" in texts(draw_tree("(1 (0 no) (1 yes))", classes=["bad", "good"]))


def test_labels_can_be_replaced():
    graph = constituency_batch([tree(), tree()])
    labels = torch.tensor([0, 0, 0, 0, 0, 1, -1, 1, 1, 1])
    shown = texts(draw_tree(graph, labels=labels, classes=2, index=1, legend=False))
    assert sorted(shown) == ["1"] * 4 + ["word 0", "word 1", "word 2"]
    shown = texts(draw_tree(tree(), labels=["S", None, "", "B", np.int64(2)]))
    assert sorted(shown) == ["2", "B", "S", "a", "film", "lovely"]
    options = {"classes": np.int64(2), "legend": False}
    shown = texts(draw_tree(tree(), labels=[torch.tensor(0)] * 5, **options))
    assert shown.count("0") == 5


@pytest.mark.parametrize("node", [1, 3, 4])
def test_a_graph_without_some_of_its_words_is_rejected(node):
    graph = dgl.remove_nodes(constituency_graph(tree()), [node])
    with pytest.raises(DataError, match=r"of the words|beyond the words"):
        draw_tree(graph)


def test_predicted_against_gold():
    figure = draw_tree(
        tree(), gold=["3", "1", None, -1, "4"], probabilities=[0.5, 0.25, 1, 0, 0.125]
    )
    shown = texts(figure)
    assert {"3 0.50", "2 ≠ 1 0.25", "3 1.00", "3 0.00", "4 0.12"} <= set(shown)
    assert {"2 ≠ 1: predicted 2, gold 1", "0.50: probability of the label"} <= set(shown)
    boxes = figure.axes[0].collections[2]
    frames = boxes.get_linewidths()[:5]
    assert max(frames) == frames[1] > frames[0]
    assert not any("gold" in text for text in texts(draw_tree(tree(), gold=tree().labels)))


def test_what_has_no_label_is_not_compared_and_what_has_no_probability_shows_none():
    figure = draw_tree(
        tree(), labels=["3", "", "A", "B", None], gold=list("32A24"), probabilities=[None] * 5
    )
    assert sorted(texts(figure)) == sorted(
        [*"3A", "B ≠ 2", "B ≠ 2: predicted B, gold 2", *tree().words]
    )


def test_weights_are_explained():
    shown = texts(draw_tree(tree(), edge_weights=[0.1, 0.2, 0.3, 0.4], weight_name="attention"))
    assert "width of a line: attention, from 0.10 to 0.40" in shown
    assert not any("width" in text for text in texts(draw_tree(tree())))


def test_negative_weights_are_dashed():
    figure = draw_tree(tree(), edge_weights=[0.5, -1, 0, 2])
    lines, *_ = figure.axes[0].collections
    is_dashed = [dashes is not None for _, dashes in lines.get_linestyles()]
    assert is_dashed[3:] == [False, True, False, False]  # after the lines to the words
    assert "width of a line: weight, from -1.00 to 2.00; dashed: negative" in texts(figure)
    assert not any("dashed" in text for text in texts(draw_tree(tree(), edge_weights=[0, 1, 1, 1])))


@pytest.mark.parametrize("direction", ["bottom_up", "top_down"])
def test_weights_are_written_at_their_edges_near_the_child(direction):
    graph = constituency_graph(tree(), direction)
    weights = [0.25, 0.5, 0.75, 1.25]
    figure = draw_tree(graph, labels=[*"RABCD"], edge_weights=weights, show_weights=True)
    places = {text.get_text(): np.array(text.get_position()) for text in figure.axes[0].texts}
    for weight, child, parent in zip(weights, "ABCD", "RRBB", strict=True):
        place = places[f"{weight:.2f}"]
        below, above = place - places[child], places[parent] - place
        assert 0 < below[1] < above[1]
        assert np.linalg.norm(below) < np.linalg.norm(above)


@every_direction
@pytest.mark.parametrize("kind", ["constituency", "dependency"])
def test_a_tree_drawn_as_a_graph(direction, kind):
    source = tree()
    if kind == "dependency":
        source = DependencyTree(["a", "film"], [1, -1], labels="23", relations=["det", "root"])
    figure = draw_tree(source, direction=direction, probabilities=[0.5] * source.num_nodes)
    assert set(source.words) <= set(texts(figure))
    assert sum("0.50" in text for text in texts(figure)) == source.num_nodes + 1  # and the legend
    make = constituency_graph if kind == "constituency" else dependency_graph
    _, arrows, *_ = figure.axes[0].collections
    assert len(arrows.get_paths()) == make(source, direction).num_edges()
    if kind == "dependency":
        assert any("det 2" in text for text in texts(figure))


def test_relations_of_words_without_a_label_are_not_coloured():
    source = DependencyTree(["a", "film"], [1, -1], labels=["", "3"], relations=["det", "root"])
    figure = draw_tree(source, legend=False)
    assert sorted(texts(figure)) == ["a", "det", "film", "root 3"]
    _, _, boxes = figure.axes[0].collections
    plain, positive = map(matplotlib.colors.to_hex, boxes.get_facecolors())
    fills = [each.fill for each in class_colors(5, [])]
    assert plain not in fills
    assert positive == fills[3]


def test_a_graph_has_one_direction():
    with pytest.raises(DataError, match="direction: expected None for a graph"):
        draw_tree(constituency_graph(tree()), direction="sibling")
    with pytest.raises(DataError, match="direction"):
        draw_tree(tree(), direction="sideways")


def line_widths(figure) -> list[float]:
    lines, *_ = figure.axes[0].collections
    return [round(width, 3) for width in lines.get_linewidths()]


def test_weights_are_line_widths():
    figure = draw_tree(tree(), edge_weights=[0.0, 1.0, -0.5, 0.25], show_weights=True)
    widths = line_widths(figure)[3:]  # after the lines to the words
    assert widths == [0.6, 4.5, 2.55, 1.575]
    assert {"0.00", "1.00", "-0.50", "0.25"} <= set(texts(figure))
    graph = constituency_batch([tree(), tree()], "top_down")
    assert line_widths(draw_tree(graph, edge_weights=[1] * 4 + [0.0, 1.0, -0.5, 0.25], index=1))[
        3:
    ] == pytest.approx(widths)
    assert set(line_widths(draw_tree(tree(), edge_weights=[0, 0, 0, 0]))[3:]) == {0.6}


@every_direction
def test_arrows_follow_the_edges(direction):
    def tips(graph):
        _, arrows, *_ = draw_tree(graph).axes[0].collections
        return np.array([path.vertices[0] for path in arrows.get_paths()])

    graph = constituency_graph(tree(), direction)
    assert len(tips(graph)) == graph.num_edges()
    assert not np.allclose(tips(graph), tips(reverse(graph)))
    _, arrows, *_ = draw_tree(tree()).axes[0].collections
    assert not arrows.get_paths()


def test_siblings_are_connected_by_dashed_arrows():
    lines, arrows, _ = draw_tree(tree(), direction="sibling").axes[0].collections
    is_dashed = [dashes is not None for _, dashes in lines.get_linestyles()]
    assert len(is_dashed) == len(arrows.get_paths()) == 7
    assert sum(is_dashed) == (constituency_graph(tree(), "sibling").edata["kind"] == 0).sum()


@every_direction
def test_arrows_end_at_the_near_borders_of_boxes(direction):
    labels = ["a long label", "x", "", "y", "one more label"]
    figure = draw_tree(tree(), direction=direction, labels=labels)
    lines, arrows, boxes = figure.axes[0].collections
    extents = [path.get_extents() for path in boxes.get_paths()]
    middles = [np.array([box.x0 + box.x1, box.y0 + box.y1]) / 2 for box in extents]
    source, target = (ends.tolist() for ends in constituency_graph(tree(), direction).edges())
    edges = sorted(zip(source, target, strict=True))
    segments = lines.get_segments()[-len(edges) :]
    for arrow, (tail, _), (start, end) in zip(arrows.get_paths(), segments, edges, strict=True):
        box, tip = extents[end], arrow.vertices[0]
        across, up = 2 * abs(tip - middles[end]) / (box.width, box.height)
        is_circle = box.width == pytest.approx(box.height)
        assert (np.hypot(across, up) if is_circle else max(across, up)) == pytest.approx(1)
        places = (tail, tip, middles[end])
        near, far, farthest = (np.linalg.norm(place - middles[start]) for place in places)
        assert near < far < farthest


@pytest.mark.parametrize(
    "source",
    [
        "(3 (2 a) (3 (3 lovely) (4 film)))",
        nltk.Tree.fromstring("(3 (2 a) (3 (3 lovely) (4 film)))"),
        constituency_graph(tree()),
    ],
)
def test_every_kind_of_tree_can_be_drawn(source):
    figure = draw_tree(source, words=["a", "lovely", "film"])
    assert sorted(texts(figure)) == sorted(texts(draw_tree(tree())))


def test_a_png_has_the_size_of_the_figure(tmp_path):
    path = tmp_path / "tree.PNG"
    figure = draw_tree(tree(), path=path, dpi=100)
    assert path.read_bytes().startswith(b"\x89PNG")
    height, width, _ = matplotlib.image.imread(path, format="png").shape
    assert (width, height) == tuple(int(side * 100) for side in figure.get_size_inches())
    assert [file.name for file in tmp_path.iterdir()] == ["tree.PNG"]


def test_svg_is_well_formed_and_the_same_each_time(tmp_path):
    for name in ("one.svg", "two.svg"):
        draw_tree(tree(), path=tmp_path / name)
    assert ElementTree.parse(tmp_path / "one.svg").getroot().tag.endswith("svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_other_suffixes_are_rejected_before_anything_is_drawn(tmp_path):
    for name in ("tree.pdf", "tree"):
        with pytest.raises(DataError, match=rf"'.*{name}': expected the suffix \.png or \.svg"):
            draw_tree("(3 film)", path=tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_axes_of_the_caller():
    figure = matplotlib.figure.Figure((4, 3))
    left, right = figure.subplots(1, 2)
    assert draw_tree(tree(), ax=left, legend=False) is figure
    assert len(left.texts) == 8
    assert not right.texts
    renderer = matplotlib.backends.backend_agg.FigureCanvasAgg(figure).get_renderer()
    for one, other in itertools.combinations(left.texts, 2):
        assert not one.get_window_extent(renderer).overlaps(other.get_window_extent(renderer))


def test_axes_of_a_subfigure(tmp_path):
    figure = matplotlib.figure.Figure((4, 3))
    left, _ = figure.subfigures(1, 2)
    path = tmp_path / "tree.png"
    assert draw_tree(tree(), ax=left.subplots(), path=path) is figure
    assert path.exists()


def test_a_notebook_shows_the_figure():
    assert draw_tree(tree())._repr_png_().startswith(b"\x89PNG")


def test_very_deep_trees(tmp_path):
    draw_tree(chain_tree(10_000), path=tmp_path / "deep.png")
    assert (tmp_path / "deep.png").stat().st_size


def test_labels_and_weights_that_do_not_match_are_rejected():
    with pytest.raises(DataError, match="labels: the tree has 5 nodes, got 2 labels"):
        draw_tree(tree(), labels=["1", "2"])
    with pytest.raises(DataError, match="gold: the tree has 5 nodes, got 1 gold"):
        draw_tree(tree(), gold=["1"])
    with pytest.raises(DataError, match="probabilities: the tree has 5 nodes, got 6"):
        draw_tree(tree(), probabilities=[0.5] * 6)
    with pytest.raises(DataError, match="edge_weights: the tree has 4 edges, got 5 weights"):
        draw_tree(tree(), edge_weights=[1.0] * 5)
    with pytest.raises(DataError, match="edge_weights: expected finite numbers"):
        draw_tree(tree(), edge_weights=[None] * 4)
    with pytest.raises(DataError, match="expected one value per node, got several"):
        draw_tree(tree(), labels=torch.zeros(5, 3))
    with pytest.raises(DataError, match="dpi: expected a positive number, got 0"):
        draw_tree(tree(), dpi=0)
    with pytest.raises(DataError, match="edge_weights: expected finite numbers"):
        draw_tree(tree(), edge_weights=[1.0, 2.0, float("nan"), 1.0])
    graph = constituency_batch([tree(), tree()])
    with pytest.raises(DataError, match="expected 10 values, one per node, got 5"):
        draw_tree(graph, labels=[1] * 5)
    with pytest.raises(DataError, match="expected 8 values, one per edge, got 4"):
        draw_tree(graph, edge_weights=[1] * 4)
    with pytest.raises(DataError, match="no tree 2 in a batch of 2"):
        draw_tree(graph, index=2, labels=[1] * 10)


STATELESS = """
import sys
from graphsent.graphs import draw_tree
assert "matplotlib" not in sys.modules
draw_tree("(3 (2 a) (3 film))", path=sys.argv[1])
assert "matplotlib.pyplot" not in sys.modules
"""


def test_matplotlib_is_imported_late_and_pyplot_never(tmp_path):
    path = tmp_path / "tree.png"
    subprocess.run([sys.executable, "-c", STATELESS, str(path)], check=True)
    assert path.exists()


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.delattr("graphsent.drawing.canvas", raising=False)
    monkeypatch.delitem(sys.modules, "graphsent.drawing.canvas", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"needs matplotlib: pip install 'graphsent\[draw\]'$"):
        draw_tree(tree())


@pytest.mark.parametrize("character", ["\ud83d", "\x07", "\ufffe", "\uffff"])
def test_what_xml_cannot_hold(character, tmp_path):
    """A lone surrogate, say, as JSON may have it, is drawn as a replacement character."""
    draw_tree(f"(2 bad{character}word)", path=tmp_path / "tree.svg")
    assert "\ufffd" in (tmp_path / "tree.svg").read_text(encoding="utf-8")
    ElementTree.parse(tmp_path / "tree.svg")
