"""Second mentions: *the film is slow, but we liked it*."""

from __future__ import annotations

from ..core.derivation import Node, leaves, phrase, word


def _is_bare_mention(node: Node, noun: str) -> bool:
    if node.label != "NP" or len(node.children) != 2:
        return False
    determiner, nominal = node.children
    return determiner.form in ("the", "this") and (nominal.form, nominal.label) == (noun, "NN")


def _is_mention(node: Node, noun: str) -> bool:
    named = [leaf.form for leaf in leaves(node)] if node.slot.startswith("noun phrase") else []
    return noun in named


def with_pronouns(node: Node, noun: str) -> Node:
    """Writes *it* for every bare *the <noun>* after the first mention of the thing reviewed."""
    if sum(leaf.form == noun for leaf in leaves(node)) < 2:
        return node
    mentioned = False

    def rewritten(current: Node) -> Node:
        nonlocal mentioned
        if mentioned and current.relation != "pobj" and _is_bare_mention(current, noun):
            pronoun = phrase("NP", word("it", "PRP"))
            return pronoun._replace(relation=current.relation, slot=current.slot)
        if not current.children:
            return current
        if _is_mention(current, noun):
            mentioned = True
            return current
        return current._replace(children=tuple(map(rewritten, current.children)))

    return rewritten(node)
