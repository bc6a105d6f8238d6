"""What an answer would add to a character's memories: repetitions left out, similar and doubtful bullets marked, held
back or mended, as the person chose for each check.

Words are looked at first (memories/extraction_verdict.py); then the model is asked to mend what is to be mended
(quality_repair.py) and, when the person wants that, whether the messages bear the bullets out (quality_support.py).
Neither of these calls can lose a memory: when it brings nothing, the bullets stay as they are, with their marks.
"""

from __future__ import annotations

from collections.abc import Sequence

from jobs.run import JobRun
from memories import quality_repair, quality_support
from memories.answer import Answer
from memories.choices import USUAL, Choices
from memories.extraction_call import Read
from memories.extraction_plan import Question
from memories.extraction_verdict import Bench, Fact, Findings, Held, as_flag
from memories.injected import injected_for
from memories.transcript import Chunk
from sync.models import Character, Chat

__all__ = ["Fact", "Findings", "Held", "judge", "settle"]


def judge(
    answer: Answer,
    chunk: Chunk,
    known: Sequence[Fact],
    character: Character,
    participants: Sequence[str] = (),
    *,
    choices: Choices = USUAL,
    injected: Sequence[str] = (),
) -> Findings:
    """Arrange the bullets into blocks, with everything that words alone can tell. No model is asked: what should be
    mended is marked. `participants` are the others of a group, whose names the model was given; `injected` are texts
    that stood in SillyTavern's prompt when the messages were written.
    """
    bench = Bench(chunk, known, character, participants, choices, injected)
    return bench.findings([as_flag(one) for one in bench.hear(answer)])


def settle(
    run: JobRun,
    question: Question,
    read: Read,
    chunk: Chunk,
    known: Sequence[Fact],
    character: Character,
    participants: Sequence[str],
    choices: Choices,
    *,
    chat: Chat | None = None,
) -> Findings:
    """As `judge`, with all that the person chose: at most one call that mends and one that checks, in the same job.

    `chat` tells what else stood in SillyTavern's prompt. Holds no transaction; raises nothing that a call may meet.
    """
    injected = injected_for(run.owner, chat, character, chunk) if chat is not None else []
    bench = Bench(chunk, known, character, participants, choices, injected)
    verdicts = quality_repair.mend(run, question, bench, read.answer)
    if choices.checks_with_model:
        verdicts = quality_support.check(run, question, bench, verdicts)
    return bench.findings(verdicts)
