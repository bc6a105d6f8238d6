"""The second question, for those who want it: is each of these memories supported by these messages?

One call for each chunk, after its answer. A bullet that the model does not find in the messages is doubted as
"unsupported", with the model's reason; words alone cannot see that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import regex
from django.utils.translation import ngettext

from jobs.run import JobRun
from memories.blocks import clean_bullet, is_topic
from memories.choices import ACCEPT, QUEUE
from memories.extraction_plan import Question
from memories.extraction_verdict import UNSUPPORTED, Bench, Verdict, stricter
from memories.prompts import supporting_text
from memories.quality import Doubt
from memories.quality_call import ask, numbered

EACH = 40  # tokens that one line of the answer may take
LONGEST_REASON = 160
SAID = regex.compile(
    r"^[\"'“*_(\[]*(?P<no>no\b|not\b|false\b|unsupported\b|nein\b|non\b)?"
    r"(?P<partly>part(?:ly|ial(?:ly)?)?\b|teilweise\b|en partie\b|parcialmente\b)?"
    r"(?P<yes>yes\b|true\b|supported\b|ja\b|oui\b|s[ií]\b)?[\"'”*_)\]]*[\s.,:;–—-]*(?P<reason>.*)$",
    regex.IGNORECASE,
)


def check(run: JobRun, question: Question, bench: Bench, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts with what the model does not find in the messages. They stay as they are when the call fails."""
    places = [place for place, one in enumerate(verdicts) if _is_asked(one)]
    if not places:
        return list(verdicts)
    lines = "\n".join(f"{number}. {verdicts[place].text}" for number, place in enumerate(places, 1))
    said = ask(run, question, bench, supporting_text(), lines, tokens=EACH * len(places))
    doubts = {} if said is None else {places[n - 1]: why for n, why in read(said).items() if 0 < n <= len(places)}
    _tell(run, len(doubts))
    return [_doubted(bench, one, doubts, place) for place, one in enumerate(verdicts)]


def read(text: str) -> dict[int, str]:
    """{number: reason} of those that the model does not, or only in part, find in the messages; other lines are
    nobody's doubt."""
    found = {}
    for number, words in numbered(text).items():
        match = SAID.match(words)
        if match and (match["no"] or match["partly"]):
            found[number] = clean_bullet(match["reason"])[:LONGEST_REASON]
    return found


def _is_asked(verdict: Verdict) -> bool:
    return not verdict.is_known and verdict.action != QUEUE and not is_topic(verdict.text)


def _doubted(bench: Bench, verdict: Verdict, doubts: Mapping[int, str], place: int) -> Verdict:
    if place not in doubts:
        return verdict
    struck = verdict.struck | {UNSUPPORTED}
    action = bench.choices.action(UNSUPPORTED)
    if action == ACCEPT:
        return replace(verdict, struck=struck)
    others = tuple(one for one in verdict.doubts if one.check != UNSUPPORTED)
    doubt = Doubt(UNSUPPORTED, 1.0, doubts[place])
    return stricter(replace(verdict, struck=struck, doubts=(doubt, *others), is_mended=False), action)


def _tell(run: JobRun, count: int) -> None:
    if count:
        text = ngettext(
            "The model does not find %(n)d new memory in the messages.",
            "The model does not find %(n)d new memories in the messages.",
            count,
        )
        run.log(text % {"n": count}, "warn")
