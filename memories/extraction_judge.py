"""What an answer would add to a character's memories: repetitions left out, similar and doubtful bullets marked."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from memories.answer import Answer, arrange
from memories.blocks import is_topic
from memories.evidence import Evidence
from memories.file_editor import NewMemory
from memories.grounding import is_groundless, numbers, strange_numbers
from memories.names import SourceWords, candidates
from memories.similarity import find_duplicate_normalised, normalise
from memories.transcript import Chunk
from sync.models import Character

Fact = tuple[uuid.UUID, str]  # a known memory: id and text


@dataclass
class Findings:
    """Blocks to be written, and what was left out or marked."""

    blocks: list[list[NewMemory]]
    left_out: list[str] = field(default_factory=list)  # exact repetitions of what is known
    similar: int = 0
    unverified: int = 0

    @property
    def repeated(self) -> int:
        return len(self.left_out)

    @property
    def memories(self) -> int:
        return sum(not is_topic(one.text) for block in self.blocks for one in block)


def judge(
    answer: Answer, chunk: Chunk, known: Sequence[Fact], character: Character, participants: Sequence[str] = ()
) -> Findings:
    """Arrange the bullets into blocks, leave out exact repetitions, mark similar ones and names without a source.

    `participants` are the others of a group, whose names the model was given.
    """
    texts = [normalise(text) for _id, text in known]
    ids: list[uuid.UUID | None] = [one for one, _text in known]
    words = _Source([*_sources(chunk, known, character), *participants], chunk, answer)
    evidence = Evidence(chunk.lines)
    found = Findings([])
    for entry in answer.entries:
        new: list[NewMemory] = []
        for bullet in entry:
            if is_topic(bullet):
                new.append(_new_memory(bullet, words, evidence, None))
                continue
            match = find_duplicate_normalised(normalise(bullet), texts)
            if match is not None and match.is_exact:
                found.left_out.append(bullet)
                continue
            new.append(_new_memory(bullet, words, evidence, ids[match.position] if match else None))
            found.similar += match is not None
            found.unverified += new[-1].is_unverified
            texts.append(normalise(bullet))
            ids.append(None)
        by_text = {one.text: one for one in new}
        found.blocks += [[by_text[text] for text in block] for block in arrange([one.text for one in new])]
    return found


class _Source:
    """What may be said without a doubt: names, numbers and words of the sources.

    When nearly no word of any bullet stands in them, the model answered in another language than the chat's, and words
    say nothing.
    """

    def __init__(self, sources: list[str], chunk: Chunk, answer: Answer) -> None:
        self.words = SourceWords(sources)
        dates = " ".join(entry.raw_date for entry in chunk.entries)
        self.numbers = set(numbers(f"{self.words.text} {dates}"))
        bullets = [bullet for entry in answer.entries for bullet in entry if not is_topic(bullet)]
        self.groundless = {bullet for bullet in bullets if self._is_groundless(bullet)}
        if len(self.groundless) == len(set(bullets)) > 1:
            self.groundless = set()

    def _is_groundless(self, bullet: str) -> bool:
        return is_groundless(bullet, candidates(bullet), self.words.knows)

    def unknown(self, bullet: str) -> list[str]:
        """Names and numbers of a bullet that occur nowhere."""
        return [*self.words.unknown(bullet), *strange_numbers(bullet, self.numbers)]


def _new_memory(bullet: str, words: _Source, evidence: Evidence, duplicate_of: uuid.UUID | None) -> NewMemory:
    unknown = words.unknown(bullet)
    return NewMemory(
        text=bullet,
        evidence=[] if is_topic(bullet) else evidence.links(bullet),
        unverified_names=unknown,
        is_unverified=bool(unknown) or bullet in words.groundless,
        duplicate_of=duplicate_of,
    )


def _sources(chunk: Chunk, known: Sequence[Fact], character: Character) -> list[str]:
    """Everything a name may come from: messages, speakers, card, persona names, memories."""
    tavern = character.tavern
    card = (character.name, character.card_text, character.scenario, character.first_message)
    personas = (tavern.persona_name, *(str(name) for name in tavern.personas.values()))
    said = (f"{entry.name}: {entry.text}" for entry in chunk.entries)
    return [*card, *personas, *said, *(text for _id, text in known)]
