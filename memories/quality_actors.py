"""Who does something in a bullet and who does it in the messages, as far as words tell (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from memories.quality_text import UNSPACED, WORD, fold

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
# By language: who acts as "I", who as "you", and both where something is done to them; closed lists, folded. Verb forms
# stand with the pronouns where a language leaves those out. Possessives are left out: "my sister" is somebody else.
PRONOUNS: dict[str, tuple[frozenset[str], frozenset[str], frozenset[str], frozenset[str]]] = {
    language: tuple(frozenset(words.split()) for words in rows)  # type: ignore[misc]  # four of them
    for language, rows in {
        "en": ("i i'm i've i'll i'd we we're we've we'll we'd", "you you're you've you'll you'd", "me us", ""),
        "de": ("ich wir", "du ihr", "mich mir uns", "dich dir euch"),
        "fr": ("je j", "tu vous", "me m moi", "te t toi"),
        "es": (
            "yo nosotros nosotras he soy estoy voy doy tengo quiero puedo debo fui hice vamos hemos",
            "tu usted ustedes vosotros eres estas vas tienes quieres puedes debes has",
            "me mi conmigo",
            "te ti contigo",
        ),
        "it": (
            "io noi ho sto vado do faccio voglio posso devo so feci abbiamo andiamo",
            "tu voi lei sei stai vai hai vuoi puoi devi fai",
            "mi me",
            "ti te",
        ),
        "pt": (
            "eu sou estou vou dou tenho quero posso devo fui fiz sei vamos temos",
            "tu voce voces es tens vais queres podes deves",
            "me mim comigo",
            "te ti contigo",
        ),
        "nl": ("ik wij we", "jij je u jullie", "mij me ons", "jou"),
        "pl": (
            "ja my mam chce moge musze jestem wiem",
            "ty wy pan pani masz mozesz jestes",
            "mnie mi nam",
            "ciebie cie ci",
        ),
        "ru": ("я мы", "ты вы", "меня мне мной нам нас", "тебя тебе вас вам"),
        "tr": ("ben biz", "sen siz", "beni bana bizi bize", "seni sana sizi size"),
        "sv": ("jag vi", "du ni", "mig oss", "dig er"),
        "cs": ("ja my jsem chci muzu musim mam vim", "ty vy jsi mas muzes", "me mne mi", "te ti tobe"),
        "uk": ("я ми", "ти ви", "мене мені нам", "тебе тобі вас вам"),
        "id": ("saya aku kami kita", "kamu anda kau", "", ""),
    }.items()
}
UNSAID = 0.6  # how surely somebody acts who is only told by the one it is done to
EVERYBODY = tuple(frozenset[str]().union(*(rows[place] for rows in PRONOUNS.values())) for place in range(4))
FIRST_CJK, SECOND_CJK = (
    regex.compile(r"私|僕|俺|我(?!们)|나는|내가|제가"),
    regex.compile(r"あなた|君|お前|你|您|너|당신"),
)
ENDING_FIRST = {
    "pl": regex.compile(r"\w{2,}(?:łem|łam|ę)\b"),
    "tr": regex.compile(r"\w{2,}(?:[ıiuü]m|[ıiuü]z|d[ıiuü]k)\b"),
    "es": regex.compile(r"\w{2,}ré\b"),
    "it": regex.compile(r"\w{2,}rò\b"),
    "pt": regex.compile(r"\w{2,}rei\b"),
}
ENDING_SECOND = {
    "pl": regex.compile(r"\w{2,}(?:sz|łeś|łaś)\b"),
    "ru": regex.compile(r"\w{2,}шь(?:ся)?\b"),
    "uk": regex.compile(r"\w{2,}ш(?:ся)?\b"),
    "cs": regex.compile(r"\w{2,}[eíáě]š\b"),
    "es": regex.compile(r"\w{2,}rás\b"),
    "it": regex.compile(r"\w{2,}rai\b"),
    "pt": regex.compile(r"\w{2,}rás\b"),
}
JOINT = r",| ?&|\s+(?:and|und|et|y|e|en|i|a|и|і|ve|ile|och|dan)\s|と|和|与|與|와|과"
# The first word, behind an article where a language gives names one; a comma behind it would make it a call.
OPENING = regex.compile(r"^\W*(?:(?:o|a|el|la|il|der|die)\s+)?([\p{L}\p{M}]+)(?!\s*[,!?、，])")
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


def subject(sentence: str, people: Sequence[str]) -> str:
    """Whom a sentence names as its first word or behind a first article, unless it calls that one; "" for nobody."""
    start = OPENING.match(fold(sentence))
    if start is None:
        return ""
    for person in people:
        if any(_opens(start, part) for part in fold(person).split()):
            return person
    return ""


def _opens(start: regex.Match[str], part: str) -> bool:
    """Whether an opening is a name or begins with it; names of scripts without spaces run into the next word."""
    if UNSPACED.search(part):
        return len(part) > 1 and (start[1].startswith(part) or start[1].startswith(part[-2:]))
    return len(part) > 2 and start[1] == part


def agency(sentence: str, language: str = "") -> float:
    """Whether the speaker of a sentence acts in it (1) or speaks of what the addressed one does (-1); 0.3 unsure."""
    if not sentence.isascii() and (FIRST_CJK.search(sentence) or SECOND_CJK.search(sentence)):
        return 1.0 if FIRST_CJK.search(sentence) else -0.6
    rows = PRONOUNS.get(language, EVERYBODY)
    words = [word for part in WORD.findall(fold(sentence)) for word in (part, part.partition("'")[0])]
    first, second, to_first, to_second = (next((at for at, one in enumerate(words) if one in row), 99) for row in rows)
    if first != second:
        return 1.0 if first < second else -0.8
    if _ends(sentence, ENDING_FIRST, language):
        return 1.0
    if _ends(sentence, ENDING_SECOND, language):
        return -0.8
    return 0.3 if to_first == to_second else UNSAID if to_second < to_first else -UNSAID


def _ends(sentence: str, endings: dict[str, regex.Pattern[str]], language: str) -> bool:
    return language in endings and endings[language].search(sentence.lower()) is not None


def sentences(text: str) -> list[tuple[str, bool]]:
    """The sentences of a message, and whether each is an action between stars."""
    acted = [(part, True) for match in ACTION.finditer(text) for part in SENTENCE.findall(match[0])]
    said = [(part, False) for part in SENTENCE.findall(ACTION.sub(". ", text))]
    return [(part, is_action) for part, is_action in (*acted, *said) if part.strip(" .*_")]


def is_negated(text: str) -> bool:
    """Whether a text denies something."""
    words = fold(text).replace("’", "'").split()
    return any(word.strip(".,;:!?") in NEGATION for word in words) or NEGATION_CJK.search(text) is not None
