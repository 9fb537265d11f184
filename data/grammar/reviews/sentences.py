"""Whole sentences of the reviews."""

from __future__ import annotations

from collections.abc import Callable

from ..core.chooser import Chooser
from ..core.derivation import Node, group, phrase, word
from . import frames, opinions
from .complements import coordinated_adjectives, described_whole
from .phrases import Setting, clause, coordinated, opened, topic
from .possession import quality_noun
from .predicates import predicate

Maker = Callable[[Chooser, Setting], Node]

_COMMA = word(",", ",").to("punct")


def judged(pick: Chooser, setting: Setting) -> Node:
    """A subject and what the sentence says of it."""
    about = topic(pick, setting)
    return clause(about.node, predicate(pick, setting, about))


_STATED: list[tuple[float, Maker]] = [
    (0.66, judged),
    (0.17, opinions.feels),
    (0.09, opinions.finds),
    (0.04, opinions.recommends),
    (0.04, opinions.happened),
]


def stated(pick: Chooser, setting: Setting) -> Node:
    """A clause with a verdict, or now and then without one."""
    return pick.weighted(_STATED)(pick, setting)


_FRAMED: list[tuple[float, Maker]] = [
    (0.58, stated),
    (0.13, frames.attitude),
    (0.07, frames.report),
    (0.07, frames.dispute),
    (0.06, frames.impersonal),
    (0.05, frames.expectation),
    (0.04, frames.whether),
]


def framed(pick: Chooser, setting: Setting) -> Node:
    """A clause, within a doubt, report or dispute in two of five cases."""
    return pick.weighted(_FRAMED)(pick, setting)


def contrasted(pick: Chooser, setting: Setting) -> Node:
    """*S , but S*; *S and S*."""
    conjunction = pick.weighted([(0.6, "but"), (0.15, "yet"), (0.25, "and")])
    if conjunction == "and":
        return coordinated("S", stated(pick, setting), conjunction, stated(pick, setting))
    joined = coordinated("S", framed(pick, setting), conjunction, framed(pick, setting))
    return phrase("S", joined.children[0], group(_COMMA, joined.children[1]))


def _aside(pick: Chooser, setting: Setting) -> Node:
    """*although S*, *even though S*."""
    kind = pick.pick(("although", "though", "while", "even"))
    sentence = stated(pick, setting)
    if kind == "even":
        though = group(word("though", "IN").to("mark"), sentence)
        return phrase("SBAR", word("even", "RB").to("advmod"), though).to("advcl")
    return phrase("SBAR", word(kind, "IN").to("mark"), sentence).to("advcl")


def conceded(pick: Chooser, setting: Setting) -> Node:
    """*Although S , S*; *S even though S*; *despite the food , S*; *if you ... , S*."""
    kind = pick.weighted([(0.5, "first"), (0.27, "last"), (0.13, "despite"), (0.1, "if")])
    if kind == "if":
        main = opened(frames.prediction(pick, setting))
        return phrase("S", frames.condition(pick, setting), group(_COMMA, main))
    if kind == "last":
        return phrase("S", opened(stated(pick, setting)), _aside(pick, setting))
    main = opened(framed(pick, setting))
    opener = (frames.despite if kind == "despite" else _aside)(pick, setting)
    return phrase("S", opener, group(_COMMA, main))


def reasoned(pick: Chooser, setting: Setting) -> Node:
    """*We loved it because S*."""
    reason = phrase("SBAR", word("because", "IN").to("mark"), judged(pick, setting)).to("advcl")
    feeling = pick.pick((opinions.feels, opinions.recommends))(pick, setting)
    return phrase("S", opened(feeling), reason)


def narrated(pick: Chooser, setting: Setting) -> Node:
    """*After we read the book , we met the author*; *we ate the soup before we left*."""
    when = word(pick.pick(("after", "before")), "IN").to("mark")
    first, second = (opinions.happened(pick, setting, in_sequence=True) for _ in range(2))
    background = phrase("SBAR", when, first).to("advcl")
    main = opened(second)
    if pick.chance(0.5):
        return phrase("S", main, background)
    return phrase("S", background, group(_COMMA, main))


def fragment(pick: Chooser, setting: Setting) -> Node:
    """*Slow but very funny*; *a dull film without wit*."""
    sort = setting.noun.sort
    if pick.chance(0.35):
        return coordinated_adjectives(pick, sort)
    node = described_whole(pick, setting)
    if pick.chance(0.4):
        quality = phrase("NP", quality_noun(pick, sort)).to("pobj")
        preposition = word(pick.pick(("with", "without")), "IN")
        return phrase("NP", node, phrase("PP", preposition, quality).to("prep"))
    if pick.chance(0.5):
        about = topic(pick, setting)
        while not about.is_whole:
            about = topic(pick, setting)
        return phrase("NP", node, opinions.relative("that", predicate(pick, setting, about)))
    return node


def question(pick: Chooser, setting: Setting) -> Node:
    return phrase("SQ", frames.question(pick, setting), word("?", ".").to("punct"))


_SENTENCES: list[tuple[float, Maker]] = [
    (0.28, framed),
    (0.27, contrasted),
    (0.22, conceded),
    (0.03, reasoned),
    (0.04, frames.so_that),
    (0.1, fragment),
    (0.03, question),
    (0.02, opinions.happened),
    (0.1, narrated),
]


def sentence(pick: Chooser, setting: Setting) -> Node:
    """A sentence with its final punctuation, not yet capitalised."""
    maker = pick.weighted(_SENTENCES)
    body = maker(pick, setting)
    if maker is question:
        return body
    mark = word("!" if pick.chance(0.08) else ".", ".").to("punct")
    if maker is fragment:
        return phrase("FRAG", body, mark)
    return phrase("S", opened(body), mark)
