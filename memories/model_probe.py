"""The tiny extraction of a test of a connection: a few invented lines through the real prompt and the real reader."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memories.answer import Answer, read_answer, without_reasoning
from memories.blocks import is_topic
from memories.chosen import settings_of
from memories.extraction_prompt import Prompt, budget, build, grammar_for
from memories.transcript import Entry, lines_of
from providers.models import Connection
from providers.probes import Judgement, Probe
from providers.tokens import estimate_tokens

NAME = "Mira"
CHAT = (
    ("character", NAME, "I bought the old lighthouse on Skerry Island today, and I move in before winter."),
    ("user", "Tom", "Then I promise to look after your dog Biscuit until the roof is tight."),
    ("character", NAME, "Nobody has done that much for me since my sister Ada drowned in the great storm."),
)
# Words of which a memory that holds what was said has one, in whatever language it is written.
HELD = re.compile(r"\b(?:lighthouse|skerry|biscuit|ada|leuchtturm|phare|faro)\b", re.IGNORECASE)
LEAST_ROOM, MORE_ROOM = 600, 4000  # tokens for the first and for the second try
QUOTED = 160


def make(connection: Connection) -> Probe:
    """The question for a connection, by its context window and the length of answers that the person allows."""
    context = connection.context_tokens
    most = context // 2 if context else MORE_ROOM
    first = min(max(settings_of(connection.owner).response_tokens, LEAST_ROOM), most)
    prompt = _prompt(connection, first)
    second = min(max(2 * first, MORE_ROOM), most)
    return Probe(
        system=prompt.system,
        user=prompt.user,
        grammar=grammar_for(context),
        rooms=(first, second) if second > first else (first,),
        judge=partial(judge, examples=prompt.examples),
        too_short=_("Raise the length of an answer: Settings, Extraction. Or choose a model that thinks less."),
    )


def _prompt(connection: Connection, answer: int) -> Prompt:
    size = partial(estimate_tokens, bytes_per_token=connection.bytes_per_token)
    sizes = budget(context=connection.context_tokens, answer=answer, measure=size)
    sizes = replace(sizes, messages=max(sizes.messages, 400))
    entries = [Entry(number, role, name, text) for number, (role, name, text) in enumerate(CHAT)]
    return build(
        character=NAME, card="", known=[], lines=lines_of(entries), sizes=sizes, seed=str(connection.pk), measure=size
    )


def judge(text: str, is_cut: bool, *, examples: frozenset[str] = frozenset()) -> Judgement:
    """Whether an answer holds a memory of what the lines say. Reasoning is never one: the reader takes it out."""
    answer = read_answer(text, is_truncated=is_cut, ignore=examples)
    bullets = [bullet for entry in answer.entries for bullet in entry if not is_topic(bullet)]
    right = next((bullet for bullet in bullets if HELD.search(bullet)), "")
    if right:
        words = ngettext("%(n)d memory in the right form", "%(n)d memories in the right form", answer.bullets)
        return Judgement(follows=True, text=words % {"n": answer.bullets}, quote=_quoted(right))
    return _odd(answer, bullets, text)


def _odd(answer: Answer, bullets: list[str], text: str) -> Judgement:
    """An answer that would bring no memory, or a wrong one."""
    small = _("Small models often do this; it may still find memories.")
    words = {
        "memories": (
            _("not what the lines say"),
            _("It mixes things up: check its memories, or choose a larger model."),
        ),
        "nothing": (_("found nothing"), _("There was something to remember. A larger model may find more.")),
        "refusal": (_("declined"), _("Choose a model that does not refuse stories.")),
        "empty": (_("nothing but thinking"), _("Choose a model that thinks less.")),
    }
    said, hint = words.get(answer.kind, (_("not in the form of a memory"), small))
    return Judgement(
        follows=False,
        text=said,
        quote=_quoted(max(bullets, key=len) if bullets else without_reasoning(text)),
        hint=hint,
    )


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= QUOTED else f"{line[:QUOTED]}…"
