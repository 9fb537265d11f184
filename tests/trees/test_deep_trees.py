"""Trees of 10,000 levels: no recursion, no quadratic time."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from strategies import chain_tree

from graphsent.trees import (
    DependencyTree,
    Tree,
    binarize,
    bracketed,
    collapse_unary,
    debinarize,
    expand_unary,
    head_words,
    parse_conllu,
    parse_trees,
    strip_function_tags,
    strip_traces,
    to_conllu,
    to_dependency_tree,
)
from graphsent.trees.errors import ExtraCloseBracket, UnclosedTree

DEPTH = 10_000


def comb(depth: int) -> Tree:
    """A right-branching binary tree with a trace at each level except the last."""
    text = "(S (-NONE- *) " * depth + "(NN a)" + ")" * depth
    return Tree.from_string(text)


def refused(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        parse_trees(text)


def derive(tree: Tree | DependencyTree) -> None:
    assert max(tree.depths) > 0
    assert len(tree.spans) == len(tree.child_index) == len(tree.num_children)


OPERATIONS: dict[str, tuple[Callable, Callable]] = {
    "construct": (chain_tree, lambda tree: Tree(tree.labels, tree.tokens, tree.parents)),
    "read": (lambda depth: str(chain_tree(depth)), Tree.from_string),
    "read unlabelled": (
        lambda depth: "(" * depth + "a" + ")" * depth,
        lambda text: parse_trees(text, empty_nodes="token", require_labels=False),
    ),
    "unclosed": (lambda depth: "(A " * depth, lambda text: refused(text, UnclosedTree)),
    "extra": (
        lambda depth: str(chain_tree(depth)) + ")",
        lambda text: refused(text, ExtraCloseBracket),
    ),
    "write": (comb, str),
    "write indented": (comb, lambda tree: bracketed(tree, pretty=True)),
    "derive": (comb, derive),
    "derive dependency": (lambda depth: DependencyTree("a" * depth, range(-1, depth - 1)), derive),
    "nltk": (comb, lambda tree: Tree.from_nltk(tree.to_nltk())),
    "traces": (comb, strip_traces),
    "tags": (comb, strip_function_tags),
    "collapse": (chain_tree, collapse_unary),
    "join": (chain_tree, lambda tree: expand_unary(collapse_unary(tree, "join"))),
    "binarize a star": (
        lambda size: Tree(["A"] * (size + 1), [None] + ["a"] * size, [-1] + [0] * size),
        lambda tree: [debinarize(binarize(tree, how)) for how in ("left", "right", "head")],
    ),
    "heads": (comb, head_words),
    "dependencies": (comb, to_dependency_tree),
    "conllu": (
        lambda depth: to_conllu(DependencyTree("a" * depth, range(-1, depth - 1))),
        parse_conllu,
    ),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_deep_trees_take_linear_time(name):
    make, operate = OPERATIONS[name]

    def seconds(depth: int) -> float:
        argument = make(depth)
        times = []
        for _ in range(3):
            start = time.process_time()
            operate(argument)
            times.append(time.process_time() - start)
        return min(times)

    # Four times the depth: about 4 times as long if linear, 16 times if quadratic.
    assert seconds(DEPTH) < 9 * seconds(DEPTH // 4) + 0.01


def test_the_results_are_right():
    chain = chain_tree(DEPTH)
    assert Tree.from_string(str(chain)) == chain
    assert Tree.from_string(bracketed(chain, pretty=True)) == chain
    assert Tree.from_nltk(chain.to_nltk()) == chain
    assert chain.depths.tolist() == list(range(DEPTH + 1))
    assert np.array_equal(chain.spans, np.tile([0, 1], (DEPTH + 1, 1)))
    assert str(collapse_unary(chain)) == "(2 a)"
    assert strip_traces(comb(DEPTH)).num_nodes == DEPTH + 1
    assert comb(DEPTH).spans[:, 1].tolist() == [DEPTH + 1] + [
        end for node in range(DEPTH) for end in (node + 1, DEPTH + 1)
    ]
    assert hash(chain) == hash(chain_tree(DEPTH))
    assert "num_nodes=10001" in repr(chain)
