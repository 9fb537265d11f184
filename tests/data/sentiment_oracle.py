"""Independent implementation of the sentiment rules in data/README.md.

A state is ``("operator", name)`` or ``("value", number, asserted, mark)``.
"""

from __future__ import annotations

from embedded_files import Bracket

OPERATORS = {
    "intensify": "very really extremely remarkably absolutely truly utterly so much complete total "
    "real",
    "diminish": "slightly somewhat mildly almost nearly minor",
    "negate": "not n't never rarely without free less fewer hard neither could should supposed "
    "expected used hoped feared lack lacks lacked avoid avoids avoided fail fails failed need "
    "needs needed doubt doubts doubted deny denies denied",
    "negate later": "no nobody few little hardly false wrong",
    "reverse": "anything far",
    "ignore": "than whether if unless after before ?",
    "demote": "that who",
    "nothing": ", . ! even",
    "and": "and nor",
    "but": "but yet",
    "although": "because although though while despite",
}
WORDS = {word: name for name, words in OPERATORS.items() for word in words.split()}


def _sign(number: int) -> int:
    return 1 if number > 0 else -1 if number < 0 else 0


def _operate(operator: tuple, argument: tuple, verbs: bool) -> tuple:
    name = operator[1]
    _, number, asserted, _ = argument
    if name in ("and", "but", "although"):
        return ("value", number, asserted, name)
    if name == "nothing":
        return argument
    if name == "demote":
        return ("value", number, False, "")
    if name == "negate later" and number == 0:
        return operator
    new = {
        "intensify": 2 * _sign(number),
        "diminish": number - _sign(number),
        "negate": -_sign(number),
        "negate later": -_sign(number),
        "reverse": -2 * _sign(number),
        "ignore": 0,
    }[name]
    return ("value", new, asserted or verbs, "")


def _together(first: int, second: int) -> int:
    if _sign(first) == -_sign(second):
        return first + second
    return first if abs(first) > abs(second) else second


def _combine(left: tuple, right: tuple) -> tuple:
    marks = left[3] + right[3]
    asserted = left[2] or right[2]
    marked, other = (left, right) if left[3] else (right, left)
    if marks == "but":
        return ("value", marked[1] or other[1], asserted, "")
    if marks == "although":
        return ("value", other[1] or marked[1], asserted, "")
    if marks == "" and left[2] != right[2]:
        strong, weak = (left, right) if left[2] else (right, left)
        return ("value", strong[1] or weak[1], True, "")
    return ("value", _together(left[1], right[1]), asserted, "")


def expected_labels(tree: Bracket, tags: list[str]) -> list[int]:
    """The labels of all nodes in preorder, from the words' labels alone.

    Args:
        tree: A binary tree of the treebank.
        tags: The Penn tags of its words.
    """
    remaining = iter(tags)

    def visit(node: Bracket) -> tuple[tuple, list[int], bool]:
        if node.word:
            is_verb = next(remaining).startswith(("VB", "MD"))
            word = node.word.lower()
            if word in WORDS:
                return ("operator", WORDS[word]), [2], is_verb
            return ("value", int(node.label) - 2, is_verb, ""), [int(node.label)], False
        left, left_labels, left_verb = visit(node.children[0])
        right, right_labels, right_verb = visit(node.children[1])
        if left[0] == "operator" and right[0] == "value":
            state = _operate(left, right, left_verb)
        elif right[0] == "operator" and left[0] == "value":
            state = _operate(right, left, right_verb)
        elif left == ("operator", "nothing"):
            state = right
        else:
            state = _combine(left, right)
        label = 2 if state[0] == "operator" else state[1] + 2
        still_verb = state[0] == "operator" and (left_verb or right_verb)
        return state, [label, *left_labels, *right_labels], still_verb

    return visit(tree)[1]
