"""What words alone tell about each bullet of an answer, and what the person chose to happen then (memories/choices.py).

A bullet goes by the strictest of its doubts: held back before mended before marked. It is told once what is wrong with
it: a repetition of a memory of the file links to it (`duplicate_of`), unknown names and numbers are listed
(`unverified_names`), everything else stands in `doubts`.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memories.answer import Answer, arrange
from memories.blocks import is_topic
from memories.choices import ACCEPT, FLAG, QUEUE, REPAIR, USUAL, Choices
from memories.evidence import Evidence
from memories.file_editor import NewMemory
from memories.grounding import numbers
from memories.names import SourceWords, candidates
from memories.quality import Doubt, Gate, Scene
from memories.similarity import Match, find_duplicate_normalised, normalise
from memories.transcript import Chunk
from sync.models import Character

Fact = tuple[uuid.UUID, str]  # a known memory: id and text
STRICTEST = (QUEUE, REPAIR, FLAG, ACCEPT)
INVENTED, UNSUPPORTED, REPEATED = "invented_name", "unsupported", "repeat_existing"
LONGEST_DETAIL = 300


@dataclass(frozen=True)
class Held:
    """A bullet that is not written into the file, and the topic of the block that it came with."""

    new: NewMemory
    topic: str = ""


@dataclass
class Findings:
    """Blocks to be written, and what was left out, held back or marked."""

    blocks: list[list[NewMemory]]
    left_out: list[str] = field(default_factory=list)  # exact repetitions of what is known
    held: list[Held] = field(default_factory=list)
    similar: int = 0
    unverified: int = 0
    mended: int = 0  # bullets that the model was asked for again, and put right
    refused: int = 0  # held back before, and refused by the person then (memories/held.py)
    struck: Mapping[str, int] = field(default_factory=dict)  # {check: bullets that it doubted}

    @property
    def repeated(self) -> int:
        return len(self.left_out)

    @property
    def memories(self) -> int:
        return sum(not is_topic(one.text) for block in self.blocks for one in block)

    @property
    def flagged(self) -> int:
        """Bullets that are written with a mark."""
        return sum(one.is_unverified or one.duplicate_of is not None for block in self.blocks for one in block)


@dataclass(frozen=True)
class Verdict:
    """What was found about one bullet, `action` is what happens to it. `entry` is its place in the answer."""

    entry: int
    text: str
    action: str = ACCEPT
    is_known: bool = False
    is_similar: bool = False
    duplicate_of: uuid.UUID | None = None
    doubts: tuple[Doubt, ...] = ()  # those that the person wants to hear of, strongest first
    struck: frozenset[str] = frozenset()
    is_mended: bool = False

    @property
    def new(self) -> NewMemory:
        """The bullet with its marks; one that is held back has no place yet to link from, so it says all in words."""
        is_linked = self.duplicate_of is not None and self.action != QUEUE
        told = [one for one in self.doubts if one.check != INVENTED and not (is_linked and one.check == REPEATED)]
        named = [name for one in self.doubts if one.check == INVENTED for name in one.detail.split(", ")]
        return NewMemory(
            self.text,
            unverified_names=list(dict.fromkeys(named)),
            is_unverified=bool(named or told),
            duplicate_of=self.duplicate_of if is_linked else None,
            doubts=[{"check": one.check, "detail": one.detail[:LONGEST_DETAIL]} for one in told],
        )


def as_flag(verdict: Verdict) -> Verdict:
    """What nobody mends (any more) is marked."""
    return replace(verdict, action=FLAG) if verdict.action == REPAIR else verdict


def marked(new: NewMemory, check: str, detail: str) -> NewMemory:
    """The bullet with one doubt more."""
    told = {"check": check, "detail": detail[:LONGEST_DETAIL]}
    return replace(new, is_unverified=True, doubts=[*new.doubts, told])


def stricter(verdict: Verdict, action: str) -> Verdict:
    """The verdict with this action or its own, whichever is the stricter; nothing is mended any more."""
    chosen = next(one for one in STRICTEST if one in (verdict.action, action))
    return as_flag(replace(verdict, action=chosen))


class Bench:
    """The scene that one answer is judged by."""

    def __init__(
        self,
        chunk: Chunk,
        known: Sequence[Fact],
        character: Character,
        participants: Sequence[str] = (),
        choices: Choices = USUAL,
        injected: Sequence[str] = (),
    ) -> None:
        self.chunk, self.known, self.character, self.choices = chunk, known, character, choices
        self._normalised = [normalise(text) for _id, text in known]
        people = [*_people(character), *participants]
        self._dates = set(numbers(" ".join(entry.raw_date for entry in chunk.entries)))
        messages = [(line.entry.name, line.text) for line in chunk.lines]
        texts = tuple(text for _id, text in known)
        others = (*people, *candidates(character.first_message))
        said = (f"{entry.name}: {entry.text}" for entry in chunk.entries)
        card = (character.name, _card(character), character.first_message)
        self._words = SourceWords([*card, *people, *texts, *injected, *said])
        self._gate = Gate(Scene(character.name, _card(character), texts, tuple(injected), messages, others))

    def hear(self, answer: Answer) -> list[Verdict]:
        """Every bullet of the answer in order, topics among them."""
        texts = list(self._normalised)
        found = []
        for number, entry in enumerate(answer.entries):
            for bullet in entry:
                if is_topic(bullet):
                    found.append(self._of_topic(number, bullet))
                    continue
                match = find_duplicate_normalised(normalise(bullet), texts)
                if match is not None and match.is_exact:
                    found.append(Verdict(number, bullet, is_known=True))
                    continue
                found.append(self._verdict(number, bullet, match))
                texts.append(normalise(bullet))
        return found

    def findings(self, verdicts: Sequence[Verdict]) -> Findings:
        """Blocks of at most five, with evidence, and what goes elsewhere."""
        evidence = Evidence(self.chunk.lines)
        struck = Counter(check for one in verdicts for check in one.struck)
        found = Findings([], struck=dict(struck), mended=sum(one.is_mended for one in verdicts))
        for number in dict.fromkeys(one.entry for one in verdicts):
            self._arrange([one for one in verdicts if one.entry == number], evidence, found)
        return found

    def _arrange(self, verdicts: Sequence[Verdict], evidence: Evidence, found: Findings) -> None:
        topic = next((one.text for one in verdicts if is_topic(one.text)), "")
        kept: dict[str, NewMemory] = {}
        for one in verdicts:
            if one.is_known:
                found.left_out.append(one.text)
            elif is_topic(one.text):
                kept[one.text] = one.new
            else:
                new = replace(one.new, evidence=evidence.links(one.text))
                if one.action == QUEUE:
                    found.held.append(Held(new, topic))
                    continue
                kept[one.text] = new
                found.similar += one.is_similar
                found.unverified += new.is_unverified
        found.blocks += [[kept[text] for text in block] for block in arrange(kept)]

    def _of_topic(self, entry: int, topic: str) -> Verdict:
        """A topic can only name somebody wrong; it stays with its block."""
        named = [one for one in self._doubts(topic, None) if one.check == INVENTED]
        return Verdict(entry, topic, doubts=tuple(named) if self.choices.action(INVENTED) != ACCEPT else ())

    def _verdict(self, entry: int, bullet: str, match: Match | None) -> Verdict:
        doubts = self._doubts(bullet, match)
        told = [one for one in doubts if self.choices.action(one.check) != ACCEPT]
        actions = {self.choices.action(one.check) for one in told}
        twin = self._twin(told)
        return Verdict(
            entry,
            bullet,
            action=next((one for one in STRICTEST if one in actions), ACCEPT),
            is_similar=match is not None or twin is not None,
            duplicate_of=twin,
            doubts=tuple(told),
            struck=frozenset(one.check for one in doubts),
        )

    def _doubts(self, bullet: str, match: Match | None) -> list[Doubt]:
        """Those of the gate, strongest first, without names and numbers that the dates of the messages bear out; names
        that open a sentence, about which the gate is careful; nearly the same words as a known or an earlier bullet."""
        found = [self._without_dates(one) for one in self._gate.check(bullet)]
        found = [one for one in found if one.check != INVENTED or one.detail]
        if names := self._unknown(bullet, found):
            found.insert(0, Doubt(INVENTED, 1.0, ", ".join(names)))
        if match is not None and REPEATED not in {one.check for one in found}:
            at = match.position if match.position < len(self.known) else None
            found.append(Doubt(REPEATED, match.score / 100, "" if at is None else self.known[at][1], at))
        return found

    def _unknown(self, bullet: str, found: Sequence[Doubt]) -> list[str]:
        return [] if any(one.check == INVENTED for one in found) else self._words.unknown(bullet)

    def _without_dates(self, doubt: Doubt) -> Doubt:
        if doubt.check != INVENTED:
            return doubt
        return replace(doubt, detail=", ".join(one for one in doubt.detail.split(", ") if one not in self._dates))

    def _twin(self, doubts: Iterable[Doubt]) -> uuid.UUID | None:
        """The memory that the bullet repeats."""
        places = (one.match for one in doubts if one.check == REPEATED and one.match is not None)
        return next((self.known[place][0] for place in places), None)


def _card(character: Character) -> str:
    return "\n".join(one for one in (character.card_text, character.scenario) if one)


def _people(character: Character) -> list[str]:
    tavern = character.tavern
    return [one for one in (tavern.persona_name, *(str(name) for name in tavern.personas.values())) if one]
