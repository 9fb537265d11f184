"""Comparison of graphs, and slow reference builders that construct graphs node by node."""

from __future__ import annotations

from typing import NamedTuple

import torch

from graphsent.trees import DependencyTree, Tree

DIRECTIONS = ("bottom_up", "top_down", "sibling")


def assert_same_graph(actual, expected) -> None:
    """Same nodes, edges in the same order, data and batch information."""
    assert actual.num_nodes() == expected.num_nodes()
    for ends, expected_ends in zip(
        actual.edges(order="eid"), expected.edges(order="eid"), strict=True
    ):
        assert ends.tolist() == expected_ends.tolist()
    assert actual.batch_num_nodes().tolist() == expected.batch_num_nodes().tolist()
    assert actual.batch_num_edges().tolist() == expected.batch_num_edges().tolist()
    for data, expected_data in ((actual.ndata, expected.ndata), (actual.edata, expected.edata)):
        assert set(data) == set(expected_data)
        for name, values in data.items():
            assert values.dtype == expected_data[name].dtype == torch.int64
            assert values.shape == expected_data[name].shape
            assert torch.equal(values, expected_data[name]), name


class Node(NamedTuple):
    """A node of an expected graph; words are strings and children are node numbers."""

    word: str | None
    label: str
    position: int
    depth: int
    span: tuple[int, int]
    children: list[int]


def constituency_nodes(tree: Tree) -> list[Node]:
    """The nodes of a constituency tree, in preorder."""
    nodes: list[Node] = []

    def visit(node: int, depth: int, first_word: int) -> int:
        """Adds the subtree of ``node``; returns the position after its last word."""
        children = [child for child in range(tree.num_nodes) if tree.parents[child] == node]
        nodes.append(None)
        end = first_word if children else first_word + 1
        for child in children:
            end = visit(child, depth + 1, end)
        position = -1 if children else first_word
        nodes[node] = Node(
            tree.tokens[node], tree.labels[node], position, depth, (first_word, end), children
        )
        return end

    visit(0, 0, 0)
    return nodes


def dependency_nodes(tree: DependencyTree) -> list[Node]:
    """The nodes of a dependency tree, in the order of the sentence."""
    heads = tree.heads.tolist()

    def below(word: int) -> list[int]:
        return [word] + [
            further for child, head in enumerate(heads) if head == word for further in below(child)
        ]

    def depth(word: int) -> int:
        return 0 if heads[word] < 0 else 1 + depth(heads[word])

    return [
        Node(
            tree.words[word],
            tree.labels[word],
            word,
            depth(word),
            (min(below(word)), max(below(word)) + 1),
            [child for child, head in enumerate(heads) if head == word],
        )
        for word in range(len(heads))
    ]


def with_head_nodes(nodes: list[Node]) -> list[Node]:
    """Gives words with dependents a separate node among these."""
    result = list(nodes)
    for number, node in enumerate(nodes):
        if not node.children:
            continue
        own = len(result)
        place = (node.position, node.position + 1)
        result.append(Node(node.word, "", node.position, node.depth + 1, place, []))
        left = [child for child in node.children if nodes[child].position < node.position]
        right = [child for child in node.children if nodes[child].position > node.position]
        result[number] = node._replace(word=None, position=-1, children=[*left, own, *right])
    return result


def with_token_nodes(nodes: list[Node]) -> list[Node]:
    """Moves words to separate nodes, in the order of the sentence."""
    result = list(nodes)
    owners = [number for number, node in enumerate(nodes) if node.word is not None]
    for number in sorted(owners, key=lambda owner: nodes[owner].position):
        node = nodes[number]
        result[number] = node._replace(word=None, position=-1, children=[len(result)])
        result.append(node._replace(label="", depth=node.depth + 1, children=[]))
    return result


def expected_edges(nodes: list[Node], direction: str) -> list[tuple[int, int, int, int]]:
    """``(source, target, child_index, kind)`` in order; kind -1 outside sibling graphs."""
    edges = []
    for parent, node in enumerate(nodes):
        for index, child in enumerate(node.children):
            if direction == "bottom_up":
                edges.append((child, child, parent, index, -1))
            elif direction == "top_down":
                edges.append((child, parent, child, index, -1))
            elif index + 1 < len(node.children):
                edges.append((child, child, node.children[index + 1], index, 0))
            else:
                edges.append((child, child, parent, index, 1))
    edges.sort(key=lambda edge: (edge[4], edge[0]))
    return [edge[1:] for edge in edges]


def assert_matches(graph, nodes: list[Node], direction: str, vocab: dict[str, int]) -> None:
    """Checks a graph against the slow builders; labels are decimal numbers or empty."""
    data = {name: values.tolist() for name, values in graph.ndata.items()}
    assert data.pop("token") == [-1 if node.word is None else vocab[node.word] for node in nodes]
    assert data.pop("label") == [int(node.label) if node.label else -1 for node in nodes]
    assert data.pop("position") == [node.position for node in nodes]
    assert data.pop("depth") == [node.depth for node in nodes]
    assert data.pop("span") == [list(node.span) for node in nodes]
    assert not data
    edges = expected_edges(nodes, direction)
    source, target = graph.edges(order="eid")
    assert source.tolist() == [edge[0] for edge in edges]
    assert target.tolist() == [edge[1] for edge in edges]
    assert graph.edata["child_index"].tolist() == [edge[2] for edge in edges]
    if direction == "sibling":
        assert graph.edata["kind"].tolist() == [edge[3] for edge in edges]
    assert len(graph.edata) == (2 if direction == "sibling" else 1)
