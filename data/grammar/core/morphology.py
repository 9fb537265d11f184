"""Inflection of the grammar's words: verbs, plurals, articles, capitals."""

from __future__ import annotations

from .derivation import Node, leaves, with_forms
from .lists import listed

_BE = {"base": "be", "past participle": "been", "gerund": "being"}

# lemma: past, past participle
_IRREGULAR = {
    "be": ("was", "been"),
    "begin": ("began", "begun"),
    "break": ("broke", "broken"),
    "build": ("built", "built"),
    "buy": ("bought", "bought"),
    "catch": ("caught", "caught"),
    "cut": ("cut", "cut"),
    "do": ("did", "done"),
    "draw": ("drew", "drawn"),
    "drive": ("drove", "driven"),
    "eat": ("ate", "eaten"),
    "feel": ("felt", "felt"),
    "find": ("found", "found"),
    "give": ("gave", "given"),
    "grow": ("grew", "grown"),
    "have": ("had", "had"),
    "hear": ("heard", "heard"),
    "hold": ("held", "held"),
    "know": ("knew", "known"),
    "lead": ("led", "led"),
    "leave": ("left", "left"),
    "lose": ("lost", "lost"),
    "make": ("made", "made"),
    "meet": ("met", "met"),
    "pay": ("paid", "paid"),
    "put": ("put", "put"),
    "read": ("read", "read"),
    "ride": ("rode", "ridden"),
    "run": ("ran", "run"),
    "say": ("said", "said"),
    "see": ("saw", "seen"),
    "sell": ("sold", "sold"),
    "send": ("sent", "sent"),
    "shut": ("shut", "shut"),
    "sing": ("sang", "sung"),
    "sit": ("sat", "sat"),
    "sleep": ("slept", "slept"),
    "spend": ("spent", "spent"),
    "stand": ("stood", "stood"),
    "take": ("took", "taken"),
    "teach": ("taught", "taught"),
    "think": ("thought", "thought"),
    "throw": ("threw", "thrown"),
    "win": ("won", "won"),
    "write": ("wrote", "written"),
}

# Stressed short verbs double their last letter before -ed and -ing.
_DOUBLING = frozenset(listed("appal begin chop cut hop hug jog put run shut sit stop swim win"))

_PLURALS = {
    "child": "children",
    "knife": "knives",
    "man": "men",
    "person": "people",
    "potato": "potatoes",
    "staff": "staff",
    "tomato": "tomatoes",
    "woman": "women",
}

# Spelt with a vowel, spoken with a consonant.
_CONSONANT_SOUND = ("use", "unique", "uniform", "one")
_VOWELS = "aeiou"

VERB_TAGS = {
    "base": "VB",
    "present": "VBP",
    "past": "VBD",
    "past participle": "VBN",
    "gerund": "VBG",
}


def plural(noun: str) -> str:
    """The plural of a noun's singular."""
    if noun in _PLURALS:
        return _PLURALS[noun]
    if noun.endswith("y") and noun[-2] not in _VOWELS:
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def _stem(verb: str, ending: str) -> str:
    if verb in _DOUBLING:
        return verb + verb[-1]
    if verb.endswith("e") and not (ending == "ing" and verb.endswith("ee")):
        return verb[:-1]
    return verb[:-1] + "i" if ending == "ed" and _consonant_y(verb) else verb


def _consonant_y(verb: str) -> bool:
    return verb.endswith("y") and verb[-2] not in _VOWELS


def _be(form: str, number: str) -> str:
    if form == "present":
        return {"singular": "is", "plural": "are", "I": "am"}[number]
    if form == "past":
        return "were" if number == "plural" else "was"
    return _BE[form]


def _third_person(verb: str) -> str:
    if verb in ("have", "do"):
        return {"have": "has", "do": "does"}[verb]
    if _consonant_y(verb):
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "o")) else "s")


def inflect(verb: str, form: str, number: str = "singular") -> str:
    """A verb's form.

    Args:
        verb: The lemma.
        form: ``"base"``, ``"present"``, ``"past"``, ``"past participle"`` or ``"gerund"``.
        number: The subject's: ``"singular"``, ``"plural"``, or ``"I"`` (singular, but with the
            plural's verb forms except of *be*).
    """
    if verb == "be":
        return _be(form, number)
    if form == "present":
        return _third_person(verb) if number == "singular" else verb
    if form in ("past", "past participle"):
        if verb in _IRREGULAR:
            return _IRREGULAR[verb][form == "past participle"]
        return _stem(verb, "ed") + "ed"
    return _stem(verb, "ing") + "ing" if form == "gerund" else verb


def verb_tag(form: str, number: str) -> str:
    """The Penn Treebank tag of a verb form."""
    return "VBZ" if form == "present" and number == "singular" else VERB_TAGS[form]


def starts_with_vowel_sound(word: str) -> bool:
    """Whether the word takes *an*: *an awful film*, *an honest one*, *a useless one*."""
    lowered = word.lower()
    if lowered.startswith(("hour", "honest")):
        return True
    return lowered[0] in _VOWELS and not lowered.startswith(_CONSONANT_SOUND)


def finish(node: Node) -> Node:
    """Chooses between *a* and *an* and capitalises the first word."""
    forms = [leaf.form for leaf in leaves(node)]
    for i in range(len(forms) - 1):
        if forms[i] in ("a", "an"):
            forms[i] = "an" if starts_with_vowel_sound(forms[i + 1]) else "a"
    forms[0] = forms[0][0].upper() + forms[0][1:]
    return with_forms(node, iter(forms))
