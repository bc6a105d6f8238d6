"""When a newer memory may make an older one out of date: "lives in the city" and "moved to the coast" (pure).

Nothing here understands a sentence. A pair is suggested when three things meet: both tell of the same subject, the
older one states something that can end (a home, work, a plan, a claim, a lack, a debt, a liking), and the newer one
tells of a change that ends just that (memories/cues.py has the words). A person decides.

Limits: the word lists are English; in other languages only plain negation, "no longer" words and changed ages are
seen. A change told without any such word is missed, and two plans about one thing may be suggested though both hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import regex

from memories.cues import CUES
from memories.evidence import WORD, terms
from memories.similarity import NEGATIONS, NUMBERS

Weight = Callable[[str], float]

ENOUGH = 0.5  # the least score of a suggestion
SAME = 0.6  # share of the shorter bullet's topics that both must have to count as one statement
LONGEST = 2_000  # letters of a bullet that are looked at
NEAR = 60  # letters between a word of change and what it is about
_NAME = regex.compile(r"\p{Lu}[\p{L}\p{M}]+")
_ACTOR = regex.compile(r"\b\p{Lu}[\p{L}\p{M}]+\b(?!['’]s)")
_ENDING = regex.compile(r"(?:ings?|ed|es|s)$")
_IRREGULAR = {
    form: stem
    for stem, forms in {
        "swim": "swam swum swims swimming swimmer",
        "wind": "wound winds winding",
        "drive": "drove driven drives driving driver",
        "ride": "rode ridden rides riding rider",
        "sing": "sang sung sings singing singer",
        "speak": "spoke spoken speaks speaking",
        "write": "wrote written writes writing",
        "read": "reads reading",
        "fly": "flew flown flies flying",
        "wear": "wore worn wears wearing",
        "sleep": "slept sleeps sleeping asleep",
        "eat": "ate eaten eats eating",
        "drink": "drank drunk drinks drinking",
        "dance": "danced dances dancing dancer",
        "cook": "cooked cooks cooking",
        "smoke": "smoked smokes smoking smoker",
        "anger": "angry angrily",
    }.items()
    for form in forms.split()
}
_NUMBER_WORDS = frozenset(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen"
    " nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand".split()
)
# Words too common in stories, or too close to the cues, to say what a memory is about.
_COMMON = (
    "could would never told said confessed admitted promised planned meant intended because has had been was were"
    " first second last only own every old new night day year time left given gave keep kept came come back went made"
    " make took take put its off out until after before still again once always right when where with without over"
    " under behind one two three four five six seven eight nine ten eleven twelve she her him his they them their that"
    " this there mrs miss lord lady sir did having found lost losing lived living moved inside lie lied liar born died"
    " dead tell minute hour week month monday tuesday wednesday thursday friday saturday sunday january february april"
    " june july august september october november december"
).split()


def _whole(word: str) -> str:
    return _IRREGULAR.get(word) or (_ENDING.sub("", word) if len(word) > 4 else word)


_NO_TOPIC = frozenset(_whole(word)[:6] for word in _COMMON)


@dataclass(frozen=True)
class Reading:
    """What the rules see in one bullet."""

    topics: dict[str, list[int]]  # stems of what it is about, names too, and where they stand (letters from the start)
    subject: str  # the name that it begins with, "" when it does not begin with one
    numbers: frozenset[str]
    is_negated: bool
    cues: dict[str, list[tuple[int, int]]]  # where the words of each cue stand
    own: frozenset[str]  # cues whose nearest name in front is the subject
    may_end: bool  # holds anything by which it could end another memory


@dataclass(frozen=True)
class Finding:
    """Why a pair is suggested: `score` 0 to 1 and the kind of change, a key of memories/review_words.py."""

    score: float
    reason: str


@dataclass(frozen=True)
class Rule:
    """The older bullet shows `before`, the newer `after`, and they share topics that weigh at least `need`."""

    reason: str
    before: str
    after: str
    need: float
    same_subject: bool = False


RULES = (
    Rule("home", "home", "moved", 0.0, same_subject=True),
    Rule("home", "", "moved", 1.8),
    Rule("work", "work", "reworked", 0.6),
    Rule("truth", "claim", "truth", 0.6),
    Rule("outcome", "plan", "outcome", 0.7),
    Rule("repair", "lack", "repair", 0.5),
    Rule("repair", "ill", "well", 0.0, same_subject=True),
    Rule("repair", "unable", "able", 0.6),
    Rule("settled", "owing", "settled", 0.6),
    Rule("ties", "ties", "ties changed", 0.6),
    Rule("liking", "liking", "disliking", 0.5),
    Rule("liking", "disliking", "liking", 0.5),
    Rule("no longer", "", "no longer", 0.6),
    Rule("no longer", "", "used to", 1.2),
)


_ENDS = {rule.after for rule in RULES} | {"age"}
# Cues that make a pair by their subject alone, without another word in common.
BY_SUBJECT = frozenset({"home", "moved", "ill", "well", "age"})


_PARTNERS = (("home", "moved"), ("moved", "home"), ("ill", "well"), ("well", "ill"))


def partners(reading: Reading) -> set[str]:
    """Cues of other bullets that make a pair with this one by the subject alone."""
    return {other for one, other in _PARTNERS if one in reading.cues}


@lru_cache(maxsize=10_000)
def read(text: str) -> Reading:
    """Read one bullet once."""
    text = text[:LONGEST].replace("’", "'")
    folded = text.casefold()
    topics: dict[str, list[int]] = {}
    words = set()
    for match in WORD.finditer(folded):
        words.add(match[0])
        for stem in _stems(match[0]):
            topics.setdefault(stem, []).append(match.start())
    first = _NAME.match(text)
    subject = first[0].casefold() if first else ""
    if first and text[first.end() :].startswith("'s"):
        subject += "'s"  # "Dara's sister" is not Dara
    cues = {name: found for name, cue in CUES.items() if (found := [match.span() for match in cue.finditer(folded)])}
    numbers = frozenset(NUMBERS.findall(text)) | (_NUMBER_WORDS & words)
    is_negated = bool(NEGATIONS & words)
    return Reading(
        topics,
        subject,
        numbers,
        is_negated,
        cues,
        _own(text, subject, cues),
        bool(_ENDS & cues.keys()) or bool(numbers) or is_negated,
    )


def _own(text: str, subject: str, cues: dict[str, list[tuple[int, int]]]) -> frozenset[str]:
    """Cues that the subject itself does: no other name stands between ("Dunnock's" is no actor)."""
    if not subject:
        return frozenset()
    names = [(match.start(), match[0].casefold()) for match in _ACTOR.finditer(text)]
    other = next((start for start, name in names if start > 0 and name != subject), len(text))
    return frozenset(
        name
        for name, spans in cues.items()
        if any(start < other or text[:start].endswith((" and ", " then ", ", ")) for start, _end in spans)
    )


def _stems(word: str) -> list[str]:
    return [stem for stem in terms(_whole(word)) if stem not in _NO_TOPIC]


def supersedes(older: str, newer: str, weight: Weight) -> Finding | None:
    """Whether `newer` may end what `older` says. `weight` tells how telling a stem is, 0 (everywhere) to 1 (rare)."""
    a, b = read(older), read(newer)
    # Whom both tell of does not say what they tell.
    names = set(_stems(a.subject)) if a.subject == b.subject else set()
    shared = {stem: weight(stem) for stem in (a.topics.keys() & b.topics.keys()) - names}
    found = [Finding(_score(rule, a, b, shared), rule.reason) for rule in RULES]
    found.append(Finding(_contradiction(a, b, shared, weight), "contradiction"))
    best = max(found, key=lambda one: one.score)
    return best if best.score >= ENOUGH else None


def _contradiction(a: Reading, b: Reading, shared: dict[str, float], weight: Weight) -> float:
    """Nearly the same statement with another number, or with a negation in the newer one only."""
    is_number = bool(a.numbers and b.numbers) and not a.numbers & b.numbers
    if is_number and a.subject and a.subject == b.subject and "age" in a.cues and "age" in b.cues:
        return 0.7
    if not is_number and a.is_negated == b.is_negated:
        return 0.0
    total = sum(shared.values())
    rest = min(sum(weight(stem) for stem in one.topics) for one in (a, b))
    is_same = total >= 0.6 and total >= SAME * rest and a.subject == b.subject
    return 0.5 + min(0.5, total / 8) if is_same else 0.0


def _score(rule: Rule, a: Reading, b: Reading, shared: dict[str, float]) -> float:
    if (rule.before and rule.before not in a.cues) or rule.after not in b.cues:
        return 0.0
    total = sum(shared.values())
    if rule.same_subject:
        is_same = rule.before in a.own and rule.after in b.own and a.subject == b.subject
        return 0.5 + min(0.5, total / 8) if is_same else 0.0
    near = sum(
        value
        for stem, value in shared.items()
        if _is_near(b.topics[stem], b.cues[rule.after])
        and (not rule.before or _is_near(a.topics[stem], a.cues[rule.before]))
    )
    return 0.5 + min(0.5, total / 8) if near >= rule.need else 0.0


def _is_near(places: list[int], spans: list[tuple[int, int]]) -> bool:
    return any(start - NEAR <= place <= end + NEAR for place in places for start, end in spans)
