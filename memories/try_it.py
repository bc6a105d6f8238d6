"""Try a prompt on a stretch of a chat: what would be sent, and, as a job, what the model answers. Nothing is saved.

Everything comes from memories/extraction_plan.py, as in an extraction; the rules of a consolidation are tried by
memories/try_merge.py, the prompt of imports by memories/try_notes.py. The answer waits in the result of the newest try
of a person, because a page must be able to show it; it is dropped when the next one starts, or with `forget`. When the
next one is about the same messages, it stays for one try more, so that two models or two texts can be compared.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from jobs.enqueue import enqueue
from jobs.models import Job
from jobs.registry import JobKind
from jobs.run import JobFailed, JobRun, Outcome, done
from memories import activity, doubts, extraction_plan, group_chat, try_merge, try_notes
from memories.blocks import is_topic
from memories.extraction_call import Read, TooLong, ask_once
from memories.extraction_judge import Fact, Findings, judge
from memories.extraction_plan import Plan, Question
from memories.file_editor import NewMemory
from memories.injected import injected_for
from memories.memory_file import facts_of
from memories.memory_filters import topic_words
from memories.models import MemoryFile
from memories.own_prompts import text_in_force
from memories.price import ANSWER_TOKENS
from memories.prompts import PromptText
from memories.queries import WINDOW
from memories.transcript import Chunk, Entry
from memories.try_merge import MergePreview
from memories.try_parts import NOT_SAVED, NotesTrial, Section, Trial, sections
from providers import prices
from providers.models import Connection
from sync.models import Character, Chat

KIND = "try_prompt"
SAME = ("name", "character", "chat", "messages")  # of two tries that can be compared


@dataclass(frozen=True)
class Preview:
    """What would be sent, cut into sections; joined they are the system and the user text."""

    plan: Plan
    question: Question
    chunk: Chunk
    known: list[Fact]
    participants: list[str]
    system: Section
    sections: list[Section]

    @property
    def count(self) -> int:
        return len(self.chunk.lines)

    @property
    def version(self) -> str:
        return self.question.prompt.version

    @property
    def tokens(self) -> int:
        return self.system.tokens + sum(one.tokens for one in self.sections)

    @property
    def user(self) -> str:
        return self.question.prompt.user

    @property
    def price(self) -> Decimal | None:
        """Dollars, with an answer of usual length; None when the connection has no price."""
        return prices.price_of(self.plan.connection).cost(self.tokens, ANSWER_TOKENS)

    @property
    def known_sent(self) -> int:
        text = next((one.text for one in self.sections if one.kind == "memories"), "")
        return sum(line.startswith("- ") for line in text.split("\n")) if self.known else 0


def prepare(user: User, trial: Trial | NotesTrial) -> Preview | MergePreview:
    """What would be sent. ValueError with a finished sentence when there is nothing to read."""
    if isinstance(trial, NotesTrial):
        return try_notes.prepare(user, trial)
    return try_merge.prepare(user, trial) if is_merge(trial.name) else _prepare(user, trial)


def is_merge(name: str) -> bool:
    """Whether this prompt puts memories together; the others read messages."""
    return name.startswith("consolidation")


def is_notes(name: str) -> bool:
    """Whether this prompt reads notes, not a chat."""
    return name == "conversion"


def is_group(name: str) -> bool:
    """Whether this prompt reads the chat of a group for one of its members."""
    return name == "extraction_group"


def _prepare(user: User, trial: Trial) -> Preview:
    given = PromptText("yours", NOT_SAVED, trial.text) if trial.text else None
    template = given or text_in_force(user, trial.name, trial.character).template
    plan = extraction_plan.plan(user, trial.character, trial.connection, chat=trial.chat, template=template)
    chunk = extraction_plan.first_chunk(plan, _entries(trial))
    if chunk is None or not chunk.lines:
        raise ValueError(_("There is nothing to read between these messages. Choose others."))
    known = _known(user, trial.character)
    others = group_chat.participants(trial.chat, chunk, trial.character) if is_group(trial.name) else []
    question = extraction_plan.question_of(plan, trial.chat, chunk, [text for _id, text in known], others)
    prompt = question.prompt
    system = Section("words", prompt.system, plan.size(prompt.system))
    return Preview(plan, question, chunk, known, others, system, sections(prompt.parts, plan.size))


def _entries(trial: Trial) -> list[Entry]:
    rows = trial.chat.messages.filter(index__gte=trial.first, index__lte=trial.last)
    fields = ("index", "role", "name", "text", "identity", "content", "raw_date", "is_hidden")
    return [Entry(*row) for row in rows.order_by("index").values_list(*fields)[:WINDOW]]


def _known(user: User, character: Character) -> list[Fact]:
    file = MemoryFile.objects.for_user(user).filter(character=character, chat=None).first()
    return facts_of(file) if file is not None else []


def start(user: User, trial: Trial | NotesTrial) -> Job:
    """Ask the model. The job's result holds the answer (`answer_of`); a second press while it runs starts nothing."""
    prepare(user, trial)
    params = params_of(trial)
    active, is_new = enqueue(
        user,
        KIND,
        key=f"{KIND}:{uuid.uuid5(uuid.NAMESPACE_OID, repr(sorted(params.items())))}",
        subject=f"chat:{trial.chat.pk}" if isinstance(trial, Trial) else f"character:{trial.character.pk}",
        label=_("Try a prompt on %(name)s") % {"name": trial.character.name},
        params=params,
        total=1,
    )
    if is_new:
        kept = earlier(active)
        gone = _ended(user).exclude(pk=kept.pk) if kept else _ended(user)
        gone.update(result={})
        try_notes.drop_pasted(_ended(user))
    return active


def earlier(job: Job) -> Job | None:
    """The try before this one, if it was about the same messages and its answer is still there."""
    rows = _ended(job.owner).exclude(pk=job.pk).exclude(result={}).filter(created_at__lte=job.created_at)
    before = rows.order_by("-created_at").first()
    is_same = before is not None and all(before.params.get(one) == job.params.get(one) for one in SAME)
    return before if is_same and "chat" in job.params else None


def params_of(trial: Trial | NotesTrial) -> dict[str, str]:
    """The trial as a job and a form write it down."""
    if isinstance(trial, NotesTrial):
        return try_notes.params_of(trial)
    return {
        "name": trial.name,
        "character": str(trial.character.pk),
        "chat": str(trial.chat.pk),
        "messages": f"{trial.first}-{trial.last}",
        "connection": str(trial.connection.pk),
        "text": trial.text,
    }


def read_range(text: str) -> tuple[int, int] | None:
    """ "847–860", "847-860" or "847" as first and last number; None when it is neither."""
    first, dash, last = text.replace("–", "-").replace("#", "").partition("-")
    numbers = [first.strip(), last.strip() if dash else first.strip()]
    if not all(one.isdecimal() and len(one) < 9 for one in numbers):
        return None
    low, high = int(numbers[0]), int(numbers[1])
    return (low, high) if low <= high else None


def forget(user: User, chat: Chat) -> None:
    """Drop what tries on this chat answered."""
    _ended(user).filter(subject=f"chat:{chat.pk}").update(result={})


def _ended(user: User) -> Any:
    return Job.objects.for_user(user).filter(kind=KIND).exclude(state__in=Job.ACTIVE)


def run(run: JobRun) -> Outcome:
    """One call."""
    activity.alone(run)
    if is_notes(run.params["name"]):
        return try_notes.run(run)
    trial = _trial(run)
    try:
        if is_merge(trial.name):
            return try_merge.run(run, trial)
        preview = _prepare(run.owner, trial)
        read = ask_once(run, preview.question, preview.question.answer_tokens)
    except ValueError as error:
        raise JobFailed(str(error), error_type="changed", retry=False) from error
    except TooLong as error:
        text = _("This is too long for the model’s context window. Nothing was saved.")
        raise JobFailed(text, hint=_("Choose fewer messages."), error_type="context", retry=False) from error
    if read is None:
        text = _("The model used up its answer with thinking. Nothing was saved.")
        raise JobFailed(text, hint=_("Allow longer answers, or choose a model that thinks less."), error_type="answer")
    injected = injected_for(run.owner, trial.chat, trial.character, preview.chunk)
    choices, people = preview.plan.choices, preview.participants
    judged = judge(
        read.answer, preview.chunk, preview.known, trial.character, people, choices=choices, injected=injected
    )
    with run.commit():
        run.progress(step=1)
    return done({"text": _sentence(judged), "trial": _result(read, judged, preview)})


def _trial(run: JobRun) -> Trial:
    params = run.params
    character = Character.objects.for_user(run.owner).select_related("tavern").filter(pk=params["character"]).first()
    chat = Chat.objects.for_user(run.owner).filter(pk=params["chat"]).first()
    connection = Connection.objects.for_user(run.owner).filter(pk=params["connection"]).first()
    numbers = read_range(params["messages"])
    if character is None or chat is None or connection is None or numbers is None:
        raise JobFailed(_("What you chose is not there any more. Choose again."), error_type="gone", retry=False)
    connection.owner = run.owner
    return Trial(params["name"], character, chat, *numbers, connection, params["text"])


def _sentence(found: Findings) -> str:
    """For the list of jobs: counts only."""
    text = ngettext("%(n)d memory, nothing was saved.", "%(n)d memories, nothing was saved.", found.memories)
    return text % {"n": found.memories}


def _result(read: Read, found: Findings, preview: Preview) -> dict[str, Any]:
    """What the page shows of the answer, as JSON."""
    said, call = read.completion, read.completion.call
    return {
        "answer": said.text,
        "kind": read.answer.kind,
        "is_cut": read.answer.is_cut,
        "blocks": [_block(block) for block in found.blocks],
        "left_out": found.left_out,
        "held": [(one.new.text, "; ".join(doubts.reasons(one.new))) for one in found.held],
        "unverified": found.unverified,
        "memories": found.memories,
        "messages": len(preview.chunk.lines),
        "first": preview.chunk.first_index,
        "last": preview.chunk.last_index,
        "seconds": round(said.seconds, 1),
        "tokens_in": said.prompt_tokens,
        "tokens_out": said.completion_tokens,
        "cost": None if call.cost is None else str(call.cost),
        "model": said.model,
    }


def _block(block: list[NewMemory]) -> dict[str, Any]:
    """A block as a card shows it: its topic as headline, then its bullets."""
    topic = next((one.text for one in block if is_topic(one.text)), "")
    return {
        "title": topic_words(topic) if topic else "",
        "bullets": [
            {
                "text": one.text,
                "unknown": one.unverified_names,
                "is_similar": bool(one.duplicate_of),
                "reasons": [doubts.reason(doubt) for doubt in one.doubts],
            }
            for one in block
            if one.text != topic
        ],
    }


def page_of(job: Job) -> str:
    """The page that shows the answer."""
    return f"{reverse('memories:prompt_try', args=[job.params['name']])}?job={job.pk}"


def job_kind() -> JobKind:
    """How jobs/registry.py knows this work."""
    return JobKind(kind=KIND, title=_("Try a prompt"), run=activity.telling(run), page=page_of)
