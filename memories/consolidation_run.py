"""The job behind a consolidation: one call a turn, each answer kept as soon as it is there.

planned ──▶ cut into parts ──▶ each part: model ──▶ done                      (map, level 0)
                                  ├─ cut off, too long ──▶ split in two
                                  └─ fails twice ──▶ smaller, at last set aside
            ──▶ what came out, cut into parts again (reduce), until one call sees all or nothing shrinks ──▶ ready
Killed in the middle of a call, the part still waits; a part that is done is never paid for again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.run import MORE, JobFailed, JobRun, Outcome, Stopped, done
from memories import consolidation_result, conversion_made
from memories.consolidation_call import CutOff, NoUse, Read, ask
from memories.consolidation_parts import DONE, FAILED, SPLIT, WAITING, Tree, answer_of
from memories.consolidation_plan import Item, halves, pieces
from memories.consolidation_prompt import Room, Strategy, build, material, refs_of, room_for
from memories.extraction_call import TooLong
from memories.extraction_plan import seed_of
from memories.extraction_prompt import Measure
from memories.grouping import alike_in_order
from memories.models import Proposal, ProposalPart
from memories.proposal_turn import take_turn
from providers.models import Call, Connection
from providers.tokens import estimate_tokens

KIND = "consolidate"
TRIES = 2  # calls for one part before it is made smaller
DEEPEST = 2  # times that a part is halved because its answers were of no use
SHRINKS = 0.92  # a level that makes less than this of its input is worth another one
MOST_LEVELS = 5
OVER = 1.15  # a piece may be this much larger than the room: the estimate of its tokens moves with every call
ENDS_AFTER = 2  # parts in a row that the connection failed
USELESS_AFTER = 3  # parts without a single answer that could be used


@dataclass(frozen=True)
class Work:
    """What a turn needs."""

    run: JobRun
    proposal: Proposal
    tree: Tree
    connection: Connection
    strategy: Strategy
    room: Room
    size: Measure

    def tokens(self, items: Sequence[Item]) -> int:
        return self.size(material(items))


def run(run: JobRun) -> Outcome:
    """One turn: cut into parts, or one call, or the result."""
    return take_turn(run, partial(_turn, run), gone=_("This consolidation was deleted; nothing was changed."))


def _turn(run: JobRun, proposal: Proposal) -> Outcome:
    work = _work(run, proposal)
    waiting = next((part for part in work.tree.parts if part.state == WAITING), None)
    if waiting is not None:
        _do(work, waiting)
        return MORE
    if (items := _next_level(work)) is not None:
        _plan(work, work.tree.height + 1, items)
        return MORE
    return _finish(work)


def _work(run: JobRun, proposal: Proposal) -> Work:
    connection = proposal.connection
    if connection is None:
        raise JobFailed(
            _("The model of this consolidation is no longer connected. The parts that were answered are kept."),
            hint=_("Run it again with another model."),
            error_type="setup",
            retry=False,
        )
    connection.owner = run.owner
    size = partial(estimate_tokens, bytes_per_token=connection.bytes_per_token)
    strategy = Strategy(proposal.params["strategy"], proposal.prompt_version, proposal.params["prompt"])
    room = room_for(strategy, connection.context_tokens, size)
    return Work(run, proposal, Tree.of(proposal), connection, strategy, room, size)


def _next_level(work: Work) -> list[Item] | None:
    """What the next level reads; None when there is none to come."""
    tree, height = work.tree, work.tree.height
    if height < 0:
        return list(tree.sources.values())
    if work.proposal.kind != Proposal.Kind.CONSOLIDATION:  # what was converted is not put together
        return None
    parts = [part for part in tree.level(height) if part.state == DONE]
    made = tree.made(height)
    if len(parts) < 2 or len(made) < 2 or height >= MOST_LEVELS:
        return None
    if height > 0 and not _shrank(work, made, [item for part in parts for item in tree.items_of(part)]):
        return None
    return _alike_together(made)


def _shrank(work: Work, made: list[Item], before: list[Item]) -> bool:
    """Whether a level made noticeably fewer memories of its input, or shorter ones."""
    return len(made) < SHRINKS * len(before) or work.tokens(made) < SHRINKS * work.tokens(before)


def _alike_together(items: list[Item]) -> list[Item]:
    """Blocks that belong together beside each other, so that one call sees them."""
    blocks: dict[str, list[Item]] = {}
    for item in items:
        blocks.setdefault(item.block, []).append(item)
    texts = {block: " ".join(item.text for item in group) for block, group in blocks.items()}
    return [item for block in alike_in_order(texts) for item in blocks[block]]


def _plan(work: Work, level: int, items: list[Item]) -> None:
    found = pieces(items, work.room.material, work.tokens)
    rows = [
        ProposalPart(proposal=work.proposal, level=level, number=f"{n:04d}", sources=[item.id for item in piece])
        for n, piece in enumerate(found, 1)
    ]
    with work.run.commit():
        ProposalPart.objects.bulk_create(rows, batch_size=200)
        _count(work)


def _do(work: Work, part: ProposalPart) -> None:
    """One call about one part."""
    items = work.tree.items_of(part)
    tokens = work.tokens(items)
    if tokens > OVER * work.room.material and len(items) > 1:
        return _split(work, part, items, _("Too long for the model’s context window."))
    _say_what(work, part, items)
    refs = refs_of(items)
    prompt = build(
        character=work.proposal.file.character.name,
        strategy=work.strategy,
        items=items,
        seed=seed_of(work.run.owner, work.proposal.file, items[0].id, items[-1].id),
    )
    try:
        read = ask(
            work.run,
            work.connection,
            prompt,
            refs=list(refs),
            answer_tokens=work.room.answer(tokens),
            subject=f"character:{work.proposal.file.character_id}",
            purpose="consolidation" if work.proposal.kind == Proposal.Kind.CONSOLIDATION else "conversion",
        )
    except TooLong:
        _smaller(work, part, items, _("Too long for the model’s context window."))
    except CutOff as cut:
        _smaller(work, part, items, _("The answer was cut off by its token limit."), call=cut.call)
    except NoUse as trouble:
        _again(work, part, items, trouble)
    else:
        _keep(work, part, answer_of(read.made, items, refs, work.strategy.name), read)


def _keep(work: Work, part: ProposalPart, answer: dict[str, Any], read: Read) -> None:
    with work.run.commit():
        _end(work, part, DONE, answer=answer, call=read.completion.call, problem="")
    count = sum(len(block["bullets"]) for block in answer["blocks"])
    text = ngettext("%(before)d memories became %(n)d.", "%(before)d memories became %(n)d.", count)
    work.run.log(text % {"before": len(part.sources), "n": count}, "good")


def _again(work: Work, part: ProposalPart, items: list[Item], trouble: NoUse) -> None:
    """Ask once more; then, when it was the answer that was of no use, about half of it; then set the part aside."""
    if part.attempts + 1 < TRIES:
        work.run.log(_("%(why)s Asking once more.") % {"why": trouble.sentence}, "warn")
        with work.run.commit():
            _waiting(work, part).update(attempts=part.attempts + 1, problem=trouble.sentence)
    elif trouble.is_model and len(items) > 1 and part.number.count(".") < DEEPEST:
        _split(work, part, items, trouble.sentence)
    else:
        _set_aside(work, part, trouble)


def _smaller(work: Work, part: ProposalPart, items: list[Item], why: str, *, call: Call | None = None) -> None:
    if len(items) > 1:
        _split(work, part, items, why, call=call)
    else:
        _set_aside(work, part, NoUse(why, is_model=True, error_type="context"))


def _split(work: Work, part: ProposalPart, items: list[Item], why: str, *, call: Call | None = None) -> None:
    rows = [
        ProposalPart(
            proposal=work.proposal,
            level=part.level,
            number=f"{part.number}.{n}",
            sources=[item.id for item in half],
        )
        for n, half in enumerate(halves(items), 1)
    ]
    with work.run.commit():
        ProposalPart.objects.bulk_create(rows)
        _end(work, part, SPLIT, call=call, problem=why)
    work.run.log(_("%(why)s Going on with halves.") % {"why": why}, "warn")


def _set_aside(work: Work, part: ProposalPart, trouble: NoUse) -> None:
    """The part counts as failed and the others go on, unless nothing else works either: then all of these wait."""
    ended = sorted((one for one in work.tree.parts if one.state in (DONE, FAILED)), key=lambda one: one.updated_at)
    row = list(takewhile(lambda one: one.state == FAILED, reversed(ended)))
    is_hopeless = not any(one.state == DONE for one in ended) and len(row) + 1 >= USELESS_AFTER
    if is_hopeless or (not trouble.is_model and len(row) + 1 >= ENDS_AFTER):
        _wait_all(work, [*row, part])
        raise _gave_up(trouble)
    with work.run.commit():
        _end(work, part, FAILED, problem=trouble.sentence)
    work.run.log(
        _("%(why)s These memories stay as they are; going on with the others.") % {"why": trouble.sentence}, "bad"
    )


def _wait_all(work: Work, parts: Sequence[ProposalPart]) -> None:
    with work.run.commit():
        rows = work.proposal.parts.filter(pk__in=[part.pk for part in parts])
        rows.update(state=WAITING, attempts=0)
        _count(work)


def _gave_up(trouble: NoUse) -> JobFailed:
    kept = _("Nothing was changed, and the parts that were answered are kept.")
    hint = trouble.hint or _("Press Retry, or run it again with another model.")
    return JobFailed(f"{trouble.sentence} {kept}", hint=hint, error_type=trouble.error_type)


def _finish(work: Work) -> Outcome:
    failed = [part for part in work.tree.parts if part.state == FAILED]
    if not any(part.state == DONE for part in work.tree.parts):
        _wait_all(work, failed)
        raise _gave_up(NoUse(failed[0].problem, is_model=True, error_type="answer"))
    return done(_publish(work))


def _publish(work: Work) -> dict[str, Any]:
    """The draft and the report. The draft of a large file takes a while and is made before the transaction."""
    proposal, tree = work.proposal, work.tree
    if proposal.kind == Proposal.Kind.CONSOLIDATION:
        publish = partial(consolidation_result.publish, consolidation_result.make_draft(proposal, tree), work.size)
    else:
        publish = partial(conversion_made.write, proposal, tree)
    with work.run.commit():
        found = publish()
        work.run.progress(step=work.run.job.total)
    return found


def _end(work: Work, part: ProposalPart, state: str, **fields: object) -> None:
    """Write how a part ended, if it still waits: two workers never end it twice."""
    now = {"state": state, "attempts": part.attempts + 1, "updated_at": timezone.now(), **fields}
    if not _waiting(work, part).update(**now):
        raise Stopped
    _count(work)


def _waiting(work: Work, part: ProposalPart) -> QuerySet[ProposalPart]:
    return work.proposal.parts.filter(pk=part.pk, state=WAITING)


def _count(work: Work) -> None:
    """Parts that ended of all parts so far, and the result as one part more."""
    states = list(work.proposal.parts.order_by().values_list("state", flat=True))
    work.run.progress(step=sum(state != WAITING for state in states), total=len(states) + 1)


def _say_what(work: Work, part: ProposalPart, items: list[Item]) -> None:
    if part.level:
        text = ngettext("bringing %(n)d result together", "bringing %(n)d results together", len(items))
        return work.run.progress(doing=text % {"n": len(items)})
    places = {one: place for place, one in enumerate(work.tree.sources, 1)}
    numbers = {"first": places[items[0].id], "last": places[items[-1].id], "all": len(places)}
    work.run.progress(doing=_("memories %(first)d to %(last)d of %(all)d") % numbers)
