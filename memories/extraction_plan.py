"""What one extraction call will send: the model's budget, the stretch that fits, and the exact request.

The extraction job and the page that tries a prompt both come through here, so that what the page shows is what the job
sends, byte for byte.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from django.utils.crypto import salted_hmac

from accounts.models import User
from jobs.models import Job
from memories.answer import Answer, read_answer
from memories.choices import Choices
from memories.chosen import choices_for
from memories.extraction_prompt import Budget, Measure, Prompt, budget, build, grammar_for, text_for
from memories.known_choice import Meaning
from memories.models import MemoryFile
from memories.own_prompts import text_in_force
from memories.prompts import PromptText
from memories.together_answer import read_together
from memories.transcript import Chunk, Entry, next_chunk
from providers.base import Request
from providers.models import Connection
from providers.tokens import estimate_tokens
from sync.models import Character, Chat


@dataclass(frozen=True)
class Plan:
    """How a character's messages are read with a connection. `size` counts tokens as its model does."""

    choices: Choices
    owner: User
    character: Character
    connection: Connection
    answer_tokens: int
    per_call: int
    sizes: Budget
    size: Measure


@dataclass(frozen=True)
class Question:
    """One request of an extraction: the prompt, whom it goes to, and the room for its answer."""

    prompt: Prompt
    connection: Connection
    answer_tokens: int
    subject: str
    chat: Chat
    is_automatic: bool = False  # nobody pressed a button for it
    daily_budget: Decimal | None = None  # for that
    names: tuple[str, ...] = ()  # of all who are asked about, when they are several (memories/together.py)

    def read(self, text: str, *, is_truncated: bool) -> Answer:
        """What an answer to this question is."""
        examples = self.prompt.examples
        if self.names:
            return read_together(text, self.names, is_truncated=is_truncated, ignore=examples)[0]
        return read_answer(text, is_truncated=is_truncated, ignore=examples)

    def request(self, answer_tokens: int, job: Job | None) -> Request:
        """What goes over the wire."""
        return Request(
            system=self.prompt.system,
            user=self.prompt.user,
            max_tokens=answer_tokens,
            purpose="extraction",
            subject=self.subject,
            grammar=None if self.names else grammar_for(self.connection.context_tokens),  # it knows no names
            job=job,
            is_automatic=self.is_automatic,
        )


def prompt_name(connection: Connection, chat: Chat | None = None) -> str:
    """Which prompt an extraction with this connection uses."""
    return "extraction_group" if chat is not None and chat.group_id else text_for(connection.context_tokens)


def plan(
    user: User,
    character: Character,
    connection: Connection,
    *,
    chat: Chat | None = None,
    halvings: int = 0,
    template: PromptText | None = None,
) -> Plan:
    """Budget and text for one character, in `chat` by the choices of its group; `halvings` after "too long", `template`
    for a text that is not saved yet."""
    chosen = choices_for(user, (chat.group if chat is not None else None) or character)
    size = partial(estimate_tokens, bytes_per_token=connection.bytes_per_token)
    context, answer = connection.context_tokens, chosen.response_tokens
    if context:
        answer = max(100, min(answer, context // 4))
    text = template or text_in_force(user, prompt_name(connection, chat), character).template
    sizes = budget(context=context, answer=answer, measure=size, text=text)
    splits = max(0, halvings - 1)  # at first only card and memories are shortened
    sizes = replace(
        sizes, card=sizes.card >> halvings, memories=sizes.memories >> halvings, messages=sizes.messages >> splits
    )
    per_call = max(1, chosen.messages_per_call >> splits)
    return Plan(chosen, user, character, connection, answer, per_call, sizes, size)


def first_chunk(plan: Plan, entries: Sequence[Entry]) -> Chunk | None:
    """As much of the beginning of `entries` as one call reads."""
    return next_chunk(
        entries,
        range(len(entries)),
        max_messages=plan.per_call,
        max_tokens=plan.sizes.messages,
        measure=plan.size,
    )


def question_of(
    plan: Plan,
    chat: Chat,
    chunk: Chunk,
    known: Sequence[str],
    participants: Sequence[str] = (),
    locked: Collection[int] = (),
    *,
    is_automatic: bool = False,
    meaning: Meaning | None = None,
) -> Question:
    """The question about one chunk of a chat; `known` are the texts of the character's memories in file order,
    `participants` the others of a group's chat (memories/group_chat.py), `locked` the places in `known` of memories
    that are always shown; `meaning` helps to choose among the others."""
    prompt = build(
        character=plan.character.name,
        card=plan.character.card_text,
        known=known,
        lines=chunk.lines,
        sizes=plan.sizes,
        seed=seed_of(plan.owner, chat, chunk.first_index, chunk.last_index),
        measure=plan.size,
        participants=participants,
        locked=locked,
        meaning=meaning,
    )
    subject = f"character:{plan.character.pk}/chat:{chat.pk}"
    day = plan.choices.daily_budget
    return Question(prompt, plan.connection, plan.answer_tokens, subject, chat, is_automatic, day)


def seed_of(user: User, source: Chat | MemoryFile | Character, first: object, last: object) -> str:
    """Makes the marker lines of a prompt: the same whenever these messages or memories are read, and unknown to whoever
    wrote them, because it rests on the installation's secret."""
    return salted_hmac("marker of a prompt", f"{user.pk}/{source.pk}/{first}/{last}").hexdigest()
