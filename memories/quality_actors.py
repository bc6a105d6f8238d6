"""Who does something in a bullet and who does it in the messages, as far as words tell (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from memories.quality_text import WORD, fold

PASSIVE = regex.compile(
    r"\b(?:was|were|been|being|got)\b.{0,60}?\bby\b|\b(?:wurde|wurden|wird|worden)\b.{0,80}?\bvon\b|"
    r"\bvon\b.{0,60}?\b(?:wurde|worden)\b"
    r"|\b(?:a été|ont été|fut|furent|était|avait été)\b.{0,60}?\bpar\b|\b(?:fue|fueron|ha sido|había sido|"
    r"era)\b.{0,60}?\bpor\b"
    r"|\b(?:foi|foram|tinha sido|era)\b.{0,60}?\bpel[oa]s?\b|\b(?:è stat[oaie]|fu|furono|venne|viene|"
    r"era stat[oaie])\b.{0,60}?\bda(?:l|lla|llo|i|gli|lle)?\b"
    r"|\b(?:werd|werden|wordt|is)\b.{0,60}?\bdoor\b|\bzosta[łl]\w*\b.{0,60}?\bprzez\b|\btarafından\b|"
    r"\b(?:blev|blivit)\b.{0,60}?\bav\b|被|られた|された|れていた"
    r"|\bby[łl]\w*\b.{0,60}?\bprzez\b|\bбыл[аои]?\b.{0,30}?\w+(?:ан|ен|ят|ит)[аоы]?\b",
    regex.IGNORECASE,
)
FIRST = frozenset(
    "i i'm i've i'll i'd me my mine we we've we'll our ich mich mir mein meine meinen meiner wir uns je j moi "
    "mon ma mes "
    "nous yo me mi mis nosotros io mi mio mia noi eu meu minha nos ik mij mijn wij ja mi moj moja mnie my я "
    "мне меня мой моя "
    "моей мою мы нам ben bana beni benim biz jag mig min vi мені мене мій моя saya aku".split()
)
SECOND = frozenset(
    "you you're you've you'll you'd your yours du dich dir dein deine sie ihnen ihr ihre tu toi te ton ta vous votre "
    "usted tu te ti tus su lei suo ti voce voces teu tua lhe jij je jou jouw u uw ty ci cie twoj twoja pan "
    "pani ты тебя тебе "
    "твой твоя вы вас вам sen sana seni senin siz sizin size du dig din тебе ти kamu anda".split()
)
FIRST_CJK, SECOND_CJK = (
    regex.compile(r"私|僕|俺|我(?!们)|나는|내가|제가"),
    regex.compile(r"あなた|君|お前|你|您|너|당신"),
)
ENDING_FIRST = regex.compile(
    r"(?:\bmam|\bchce|\w{2,}(?:ałem|ałam|iłem|iłam|yłem|yłam|łem|łam|ę|yorum|ıyorum|dım|dim|dum|düm|tım|tim|"
    r"rım|rim))\b"
)
JOINT = r",| ?&|\s+(?:and|und|et|y|e|en|i|a|и|і|ve|ile|och|dan)\s|と|和|与|與|와|과"
ACTION = regex.compile(r"\*[^*]+\*|_[^_]+_")
SENTENCE = regex.compile(r"[^.!?。！？…\n*]+")
NEGATION = frozenset(
    "not no never none nobody nothing don't didn't won't isn't wasn't can't cannot couldn't wouldn't doesn't "
    "haven't hasn't "
    "hadn't shan't without nicht kein keine keinen keinem keiner nie niemals niemand nichts ne n pas jamais "
    "personne rien no "
    "nunca nadie nada ni non mai nessuno niente nao ninguem niet geen nooit niemand nie nigdy nikt nic не ни "
    "нет никогда никто "
    "degil yok asla hic inte aldrig ingen instead rather stopped statt anstatt stattdessen invece zamiast "
    "вместо yerine refused "
    "weigerte refusa rifiuto recusou weigerde odmowil отказался".split()
)
NEGATION_CJK = regex.compile(r"ない|なかった|ません|ず[にと、]|不|没|沒|未|안 |않|못")


@dataclass(frozen=True)
class Roles:
    """The people of a bullet in the order of who acts: the actor, and whom it concerns ("" where nobody is named)."""

    actor: str
    other: str


def people_in(text: str, people: Sequence[str]) -> list[str]:
    """Those of `people` whom a text names, in order of appearance; `people` are full names."""
    folded = fold(text)
    words = {match[0].split("'")[0]: match.start() for match in reversed(list(WORD.finditer(folded)))}
    found = []
    for person in people:
        places = [
            at
            for part in fold(person).split()
            if len(part) > 2 or not part.isascii()
            for word, at in words.items()
            if word == part or (len(part) > 3 and word[: len(part) - 1] == part[:-1] and len(word) <= len(part) + 3)
        ]
        places += (
            [folded.find(fold(person)[:2])]
            if not places and not person.isascii() and fold(person)[:2] in folded
            else []
        )
        places += (
            [folded.find(fold(person)[-2:])]
            if not places and not person.isascii() and fold(person)[-2:] in folded
            else []
        )
        if places:
            found.append((min(places), person))
    return [person for _at, person in sorted(found)]


def roles(text: str, people: Sequence[str]) -> Roles:
    """Who acts in a bullet; the passive voice turns the order round."""
    named = people_in(text, people)
    if len(named) < 2 or _side_by_side(text, named[0], named[1]):
        return Roles(named[0] if named else "", "")
    if PASSIVE.search(text):
        return Roles(named[1], named[0])
    return Roles(named[0], named[1])


def _side_by_side(text: str, one: str, other: str) -> bool:
    """Whether two people do something together, "Alice and Bob"."""
    first, second = ("|".join(map(regex.escape, fold(person).split())) for person in (one, other))
    together = rf"(?:{first})\w{{0,3}}(?:{JOINT})\s*(?:{second})"
    return regex.search(together, fold(text)) is not None


def agency(sentence: str) -> float:
    """Whether the speaker of a sentence acts in it (1) or speaks of what the addressed one does (-1); 0.3 unsure."""
    words = fold(sentence).replace("’", "'").split()
    bare = [word.strip(".,;:!?…\"'()«»„“¿¡-") for word in words]
    first = next((at for at, word in enumerate(bare) if word in FIRST), 99)
    second = next((at for at, word in enumerate(bare) if word in SECOND), 99)
    if first == second == 99:
        if FIRST_CJK.search(sentence) or ENDING_FIRST.search(sentence.lower()):
            return 1.0
        return -0.6 if SECOND_CJK.search(sentence) else 0.3
    return 1.0 if first <= second else -0.6


def sentences(text: str) -> list[tuple[str, bool]]:
    """The sentences of a message, and whether each is an action between stars."""
    acted = [(part, True) for match in ACTION.finditer(text) for part in SENTENCE.findall(match[0])]
    said = [(part, False) for part in SENTENCE.findall(ACTION.sub(". ", text))]
    return [(part, is_action) for part, is_action in (*acted, *said) if part.strip(" .*_")]


def is_negated(text: str) -> bool:
    """Whether a text denies something."""
    words = fold(text).replace("’", "'").split()
    return any(word.strip(".,;:!?") in NEGATION for word in words) or NEGATION_CJK.search(text) is not None
