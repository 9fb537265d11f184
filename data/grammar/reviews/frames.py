"""Sentences around a clause: doubt, report, dispute, question."""

from __future__ import annotations

from ..core.chooser import Chooser
from ..core.derivation import Node, group, phrase, word
from ..core.morphology import plural
from ..core.verbs import infinitive, verb
from .opinions import audience, felt, felt_by, nobody, person, relative, taste
from .phrases import (
    Setting,
    adjective,
    clause,
    determined,
    fixed_noun_phrase,
    fixed_prepositional,
    noun_leaf,
    prepositional,
    topic,
    whole,
)
from .predicates import predicate
from .verbs import negated_verb


def claimed(pick: Chooser, setting: Setting) -> Node:
    """A clause that somebody else may say, doubt or dispute."""
    if pick.chance(0.15):
        return felt_by(pick, setting, audience(pick, setting))
    about = topic(pick, setting)
    return clause(about.node, predicate(pick, setting, about))


def that_clause(sentence: Node) -> Node:
    return phrase("SBAR", word("that", "IN").to("mark"), sentence)


def attitude(pick: Chooser, setting: Setting) -> Node:
    """*I doubt that ...*, *we do not think that ...*, *no critic denies that ...*."""
    kind = pick.weighted([(0.3, "nobody"), (0.28, "not"), (0.42, "plain")])
    denied = kind == "not"
    subject = nobody(pick, setting) if kind == "nobody" else person(pick, setting, denied)
    lemmas = ("think", "believe", "say") if denied else ("think", "doubt", "deny", "say")
    first_person = subject.node.children[0].form in ("I", "we")
    lemma = pick.pick(lemmas[:-1] if first_person else lemmas)
    slot = "" if denied else f"attitude/{subject.number}"
    leaf = verb(lemma, "base" if denied else "present", subject.number, slot)
    bare = phrase("VP", leaf, that_clause(claimed(pick, setting)).to("ccomp"))
    if denied:
        bare = negated_verb(pick, "present", subject.number, bare)
    return clause(subject.node, bare)


def report(pick: Chooser, setting: Setting) -> Node:
    """*Critics who hate slow films say that ...*."""
    lemma = pick.pick(setting.domain.audience)
    people = phrase("NP", word(plural(lemma), "NNS", lemma))
    subject = phrase("NP", people, relative("who", taste(pick, setting)))
    claim = verb(pick.pick(("say", "claim", "agree")), "present", "plural")
    inner = that_clause(claimed(pick, setting)).to("ccomp")
    return clause(subject, phrase("VP", claim, inner))


def dispute(pick: Chooser, setting: Setting) -> Node:
    """*Anyone who says that ... is wrong*, *the claim that ... is false*."""
    inner = that_clause(claimed(pick, setting))
    if pick.chance(0.5):
        says = phrase("VP", verb("say", "present"), inner.to("ccomp"))
        subject = phrase("NP", phrase("NP", word("anyone", "NN")), relative("who", says))
        truth = pick.pick(("right", "wrong"))
    else:
        noun = determined("the", word(pick.pick(("claim", "rumour")), "NN"))
        subject = phrase("NP", noun, inner.to("acl"))
        truth = pick.pick(("true", "false"))
    judgement = phrase("ADJP", word(truth, "JJ")).to("acomp")
    return clause(subject, phrase("VP", verb("be", "present"), judgement))


def impersonal(pick: Chooser, setting: Setting) -> Node:
    """*It is wrong to say that ...*, *it is hard to deny that ...*."""
    judgement, lemma = pick.pick(
        (("wrong", "say"), ("hard", "believe"), ("hard", "deny"), ("easy", "see"), ("fair", "say"))
    )
    saying = phrase("VP", word(lemma, "VB"), that_clause(claimed(pick, setting)).to("ccomp"))
    judged = phrase("ADJP", word(judgement, "JJ"), infinitive(saying)).to("acomp")
    subject = phrase("NP", word("it", "PRP"))
    return clause(subject, phrase("VP", verb("be", "present"), judged))


def expectation(pick: Chooser, setting: Setting) -> Node:
    """*I hoped that the film would be funny*, *we feared that it would annoy us*."""
    subject = person(pick, setting)
    about = topic(pick, setting)
    would = phrase("VP", word("would", "MD").to("aux"), predicate(pick, setting, about, "base"))
    inner = that_clause(phrase("S", about.node.to("nsubj"), would)).to("ccomp")
    lemma = pick.pick(("hope", "fear"))
    return clause(subject.node, phrase("VP", verb(lemma, "past", subject.number), inner))


def whether(pick: Chooser, setting: Setting) -> Node:
    """*I wonder whether ...*, *we do not know whether ...*: no verdict at all."""
    inner = phrase("SBAR", word("whether", "IN").to("mark"), claimed(pick, setting)).to("ccomp")
    subject = fixed_noun_phrase(pick.pick(("I/PRP", "we/PRP")))
    if pick.chance(0.5):
        return clause(subject, phrase("VP", verb("wonder", "present", "plural"), inner))
    known = phrase("VP", verb("know", "base"), inner)
    return clause(subject, negated_verb(pick, "present", "plural", known))


def question(pick: Chooser, setting: Setting) -> Node:
    """*Is the film really funny*, *did you like the food*: the caller adds the mark."""
    about = topic(pick, setting)
    if pick.chance(0.6):
        copula = verb("be", setting.tense, about.number)
        complement = phrase("ADJP", adjective(pick, about.sort, "mild")).to("acomp")
        return group(copula, group(about.node.to("nsubj"), complement))
    you = phrase("NP", word("you", "PRP")).to("nsubj")
    lemma = pick.pick(("like", "enjoy", "admire", "dislike", "love"))
    bare = phrase("VP", word(lemma, "VB"), about.node.to("dobj"))
    return group(word("did", "VBD", "do").to("aux"), group(you, bare))


def condition(pick: Chooser, setting: Setting) -> Node:
    """*If you like silly films*, without a verdict on this one."""
    you = phrase("NP", word("you", "PRP"))
    sentence = phrase("S", you.to("nsubj"), taste(pick, setting))
    return phrase("SBAR", word(pick.pick(("if", "unless")), "IN").to("mark"), sentence).to("advcl")


def prediction(pick: Chooser, setting: Setting) -> Node:
    """*You will love this film*."""
    thing = determined("this", noun_leaf(setting.noun))
    will = word("will", "MD").to("aux")
    feeling = felt(pick, "base", "plural", thing)
    if pick.chance(0.3):
        feeling = group(word("not", "RB").to("neg"), feeling)
    return clause(phrase("NP", word("you", "PRP")), phrase("VP", will, feeling))


def despite(pick: Chooser, setting: Setting) -> Node:
    """*Despite the stale bread*."""
    noun = (whole if pick.chance(0.2) else topic)(pick, setting).node
    return prepositional("despite", noun).to("prep")


_TALK = ("for days/NNS", "for weeks/NNS", "on the/DT train/NN", "after work/NN")


def so_that(pick: Chooser, setting: Setting) -> Node:
    """*The film was so dull that we talked about it for days*."""
    about = topic(pick, setting)
    subject = person(pick, setting).node
    it = phrase("NP", word("it", "PRP"))
    talked = group(word("talked", "VBD", "talk"), prepositional("about", it).to("prep"))
    when = fixed_prepositional(pick.pick(_TALK).replace("days", "day").replace("weeks", "week"))
    result = phrase("S", subject.to("nsubj"), phrase("VP", talked, when.to("prep")))
    so = group(word("so", "RB").to("advmod"), adjective(pick, about.sort, "mild"))
    complement = phrase("ADJP", so, that_clause(result).to("ccomp")).to("acomp")
    return clause(about.node, phrase("VP", verb("be", "past", about.number), complement))
