"""Ask the model once to mend bullets that a check doubts.

What comes back is judged again and, when it is still doubted, marked. When nothing comes back, the bullets stay as they
were, marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.run import JobRun
from memories.answer import Answer, is_memory
from memories.blocks import clean_bullet, is_topic
from memories.choices import ACCEPT, REPAIR
from memories.doubts import reason
from memories.extraction_plan import Question
from memories.extraction_verdict import Bench, Verdict, as_flag
from memories.prompts import mending_text
from memories.quality_call import ask, numbered

EACH = 80  # tokens that one mended bullet may take


def mend(run: JobRun, question: Question, bench: Bench, answer: Answer) -> list[Verdict]:
    """The verdicts on an answer after those that are to be mended were asked for again; none is left to be mended."""
    verdicts = bench.hear(answer)
    doubted = [place for place, one in enumerate(verdicts) if one.action == REPAIR]
    if doubted:
        texts = _asked(run, question, bench, [verdicts[place] for place in doubted])
        mended = {place: texts[number] for number, place in enumerate(doubted, 1) if number in texts}
        verdicts = _judged_again(bench, answer, verdicts, mended)
        _tell(run, len(doubted), sum(one.is_mended for one in verdicts))
    return [as_flag(one) for one in verdicts]


def read(text: str) -> dict[int, str]:
    """The mended bullets by their numbers; those that the model gave up are missing."""
    found = {}
    for number, words in numbered(text).items():
        bullet = clean_bullet(words.strip().removeprefix("- "))
        if is_memory(bullet, ()) and bullet.strip(".").upper() != "NONE" and not is_topic(bullet):
            found[number] = bullet
    return found


def _asked(run: JobRun, question: Question, bench: Bench, doubted: Sequence[Verdict]) -> dict[int, str]:
    lines = [f"{n}. {one.text}\n   ({'; '.join(map(reason, _told(one)))})" for n, one in enumerate(doubted, 1)]
    said = ask(run, question, bench, mending_text(), "\n".join(lines), tokens=EACH * len(doubted))
    return {} if said is None else read(said)


def _told(verdict: Verdict) -> list[dict[str, str]]:
    return [{"check": one.check, "detail": one.detail} for one in verdict.doubts]


def _judged_again(bench: Bench, answer: Answer, before: Sequence[Verdict], mended: Mapping[int, str]) -> list[Verdict]:
    """All bullets are heard again, because a mended one may now repeat another."""
    if not mended:
        return list(before)
    texts = [mended.get(place, one.text) for place, one in enumerate(before)]
    ends = [sum(map(len, answer.entries[: number + 1])) for number in range(len(answer.entries))]
    starts = [0, *ends[:-1]]
    entries = tuple(tuple(texts[start:end]) for start, end in zip(starts, ends, strict=True))
    again = bench.hear(replace(answer, entries=entries))
    return [
        replace(
            after,
            struck=then.struck | after.struck,
            is_mended=place in mended and after.action == ACCEPT and not after.is_known,
        )
        for place, (then, after) in enumerate(zip(before, again, strict=True))
    ]


def _tell(run: JobRun, asked: int, mended: int) -> None:
    text = ngettext(
        "The model was asked to mend %(n)d doubtful memory; %(m)d is right now.",
        "The model was asked to mend %(n)d doubtful memories; %(m)d are right now.",
        asked,
    )
    run.log(text % {"n": asked, "m": mended} + ("" if mended else " " + _("They are marked.")))
