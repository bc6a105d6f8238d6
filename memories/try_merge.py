"""Try the rules of a consolidation on what is remembered of a stretch of a chat: the first call that a consolidation of
these memories would send, and what becomes of each memory in the model's answer. Nothing is saved."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from jobs.run import JobFailed, JobRun, Outcome, done
from memories.conservation import Result, check
from memories.consolidation_call import CutOff, NoUse, Read, ask
from memories.consolidation_parts import answer_of, strictness
from memories.consolidation_plan import ANSWER_SHARE, FRESH, Item, pieces
from memories.consolidation_prompt import Room, Strategy, build, material, refs_of, room_for
from memories.consolidation_reads import OUTPUT, items_of
from memories.extraction_call import TooLong
from memories.extraction_plan import seed_of
from memories.extraction_prompt import Prompt
from memories.memory_filters import topic_words
from memories.models import MemoryBlock, MemoryFile
from memories.own_prompts import text_in_force
from memories.try_parts import NOT_SAVED, NotesTrial, Section, Trial, sections
from providers import prices
from providers.models import Connection
from providers.tokens import estimate_tokens
from sync.models import Character


@dataclass(frozen=True)
class MergePreview:
    """What would be sent, cut into sections; joined they are the system and the user text. `beyond` memories would go
    into further calls."""

    trial: Trial | NotesTrial
    prompt: Prompt
    room: Room
    items: list[Item]
    beyond: int
    system: Section
    sections: list[Section]

    @property
    def count(self) -> int:
        return len(self.items)

    @property
    def is_notes(self) -> bool:
        return isinstance(self.trial, NotesTrial)

    @property
    def version(self) -> str:
        return self.prompt.version

    @property
    def user(self) -> str:
        return self.prompt.user

    @property
    def tokens(self) -> int:
        return self.system.tokens + sum(one.tokens for one in self.sections)

    @property
    def material(self) -> int:
        """Tokens of the memories alone."""
        return _size(self.trial.connection)(material(self.items))

    @property
    def price(self) -> Decimal | None:
        """Dollars, with an answer of usual length; None when the connection has no price."""
        share = ANSWER_SHARE if self.is_notes else OUTPUT.get(self.trial.name, 0.7)
        return prices.price_of(self.trial.connection).cost(self.tokens, int(self.material * share))


def prepare(user: User, trial: Trial) -> MergePreview:
    """What would be sent. ValueError with a finished sentence when there are not two memories to put together."""
    file = MemoryFile.objects.for_user(user).filter(character=trial.character, chat=None).first()
    items = items_of(user, file, _blocks(user, file, trial)) if file else []
    if file is None or len(items) < 2:
        text = _("Fewer than two fresh memories came from these messages. Choose others, or extract the chat first.")
        raise ValueError(text)
    return preview_of(user, trial, items, file)


def preview_of(
    user: User, trial: Trial | NotesTrial, items: list[Item], source: MemoryFile | Character
) -> MergePreview:
    """The first call about these items. `source` makes the marker: the file that the job works on."""
    size = _size(trial.connection)
    strategy = _strategy(user, trial)
    room = room_for(strategy, trial.connection.context_tokens, size)
    first = pieces(items, room.material, lambda some: size(material(some)))[0]
    prompt = build(
        character=trial.character.name,
        strategy=strategy,
        items=first,
        seed=seed_of(user, source, first[0].id, first[-1].id),
    )
    system = Section("words", prompt.system, size(prompt.system))
    return MergePreview(trial, prompt, room, first, len(items) - len(first), system, sections(prompt.parts, size))


def _size(connection: Connection) -> Any:
    return partial(estimate_tokens, bytes_per_token=connection.bytes_per_token)


def _strategy(user: User, trial: Trial | NotesTrial) -> Strategy:
    if trial.text:
        return Strategy(trial.name, NOT_SAVED, trial.text)
    found = text_in_force(user, trial.name, trial.character)
    return Strategy(trial.name, found.version, found.text)


def _blocks(user: User, file: MemoryFile, trial: Trial) -> list[object]:
    """The fresh blocks that came from these messages."""
    rows = MemoryBlock.objects.for_user(user).filter(file=file, chat=trial.chat, origin__in=FRESH)
    rows = rows.exclude(last_index__lt=trial.first).exclude(first_index__gt=trial.last)
    return list(rows.values_list("pk", flat=True))


def run(run: JobRun, trial: Trial) -> Outcome:
    """One call."""
    preview = prepare(run.owner, trial)
    read = ask_once(run, preview)
    with run.commit():
        run.progress(step=1)
    found = _result(read, preview)
    text = ngettext("%(n)d memory, nothing was saved.", "%(n)d memories, nothing was saved.", found["memories"])
    return done({"text": text % {"n": found["memories"]}, "trial": found})


def ask_once(run: JobRun, preview: MergePreview) -> Read:
    """One call, and what the model made of it. JobFailed when that is of no use."""
    trial = preview.trial
    try:
        return ask(
            run,
            trial.connection,
            preview.prompt,
            refs=list(refs_of(preview.items)),
            answer_tokens=preview.room.answer(preview.material),
            subject=f"character:{trial.character.pk}",
            purpose="conversion" if preview.is_notes else "consolidation",
        )
    except TooLong as error:
        text = _("This is too long for the model’s context window. Nothing was saved.")
        hint = _("Choose a shorter text.") if preview.is_notes else _("Choose fewer messages.")
        raise JobFailed(text, hint=hint, error_type="context", retry=False) from error
    except CutOff as error:
        text = _("The answer was cut off by its token limit. Nothing was saved.")
        hint = (
            _("An import would ask again in halves.")
            if preview.is_notes
            else _("A consolidation would ask again in halves.")
        )
        raise JobFailed(text, hint=hint, error_type="answer_cut") from error
    except NoUse as trouble:
        raise JobFailed(trouble.sentence, hint=trouble.hint, error_type=trouble.error_type) from trouble


def _result(read: Read, preview: MergePreview) -> dict[str, Any]:
    """What the page shows of the answer, as JSON: read and checked as a consolidation does."""
    name, items = preview.trial.name, preview.items
    answer = answer_of(read.made, items, refs_of(items), name)
    texts = {item.id: item.text for item in items}
    bullets = [bullet for block in answer["blocks"] for bullet in block["bullets"]]
    results = [Result(bullet["text"], frozenset(bullet["from"])) for bullet in bullets]
    found = check(texts, results, answer["dropped"], strictness(name))
    invented = {bullets[place]["text"] for place in found.invented}
    return {
        **said_of(read),
        "blocks": [_block(block, invented) for block in answer["blocks"]],
        "missing": [texts[one] for one in found.missing],
        "dropped": [[texts[one], fate.reason] for one, fate in found.fates.items() if fate.fate == "dropped"],
        "unverified": len(invented),
        "memories": len(bullets),
        "sources": len(items),
    }


def said_of(read: Read) -> dict[str, Any]:
    """What the page shows of a call: the answer word for word, its time, tokens and cost."""
    said = read.completion
    return {
        "answer": said.text,
        "kind": "memories",
        "seconds": round(said.seconds, 1),
        "tokens_in": said.prompt_tokens,
        "tokens_out": said.completion_tokens,
        "cost": None if said.call.cost is None else str(said.call.cost),
        "model": said.model,
    }


def _block(block: dict[str, Any], invented: set[str]) -> dict[str, Any]:
    bullets = [{"text": one["text"], "is_invented": one["text"] in invented} for one in block["bullets"]]
    return {"title": topic_words(block["topic"]) or block["label"], "bullets": bullets}
