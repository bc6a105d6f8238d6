"""A model that puts memories together as it is told, and files to do it with.

    with Merger() as fake:
        fake.lose = {"Wren hid the bakelo in Harrow."}     # these vanish without a word
        fake.drop = {"…": "a passing mood"}                # these are left out with a reason
        fake.invent = {"Wren hid …": "Wren sold a boat."}   # this stands in place of that, under its id
        fake.on(3, "prose")                                # what becomes of question number 3 (from 1)

Two memories of a block that follow each other become one ("A; B"), everything else is copied word for word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from memories.models import Memory, MemoryFile
from tests.support.builders import make_block
from tests.support.fake_model import FakeModel, Recorded, Scripted, prompt_of

LINE = re.compile(r"^(b\d+\.\d+) (.+)$", re.MULTILINE)
HEAD = re.compile(r"^\[(b\d+)\](?: · (.*))?$", re.MULTILINE)
SYLLABLES = [a + b for a in "bdfgklmnprst" for b in "aeiou"]


class Merger(FakeModel):
    """See the module's docstring."""

    def __init__(self) -> None:
        super().__init__()
        self.lose: set[str] = set()
        self.drop: dict[str, str] = {}
        self.invent: dict[str, str] = {}
        self.merges = True
        self.plan: dict[int, str] = {}
        self._here: list[Recorded] = []

    def on(self, number: int, what: str) -> None:
        """Question `number`: "cut", "prose", "empty", "error" (what a server says that broke), or a text of its own."""
        self.plan[number] = what

    def next_scripted(self) -> Scripted | str | None:
        scripted = super().next_scripted()
        if scripted is not None:
            return scripted
        prompt = prompt_of(self.chats[-1].body)
        whole = self.answer(prompt)
        what = self.plan.pop(len(self.chats), "")
        match what:
            case "":
                return whole
            case "cut":
                return Scripted(200, completion(whole[: len(whole) // 2], "length"))
            case "prose":
                return "What a lovely set of memories this is. Shall I go on?"
            case "empty":
                return Scripted(200, completion("", "stop"))
            case "error":
                return Scripted(500, {"error": {"message": "upset"}})
            case _:
                return what

    def answer(self, prompt: str) -> str:
        """What a good model would say, but for what it was told to do wrong."""
        blocks: dict[str, list[tuple[str, str]]] = {}
        for ref, text in listed(prompt):
            blocks.setdefault(ref.partition(".")[0], []).append((ref, text))
        dropped = [f"- {ref}: {self.drop[t]}" for lines in blocks.values() for ref, t in lines if t in self.drop]
        made = [block for ref, lines in blocks.items() if (block := self._block(ref, lines))]
        tail = ["<dropped>", *dropped, "</dropped>"] if dropped else []
        return "\n".join([*made, *tail])

    def _block(self, ref: str, lines: Sequence[tuple[str, str]]) -> str:
        kept = [(one, self.invent.get(text, text)) for one, text in lines if text not in {*self.lose, *self.drop}]
        bullets = []
        while kept:
            is_made_up = any(text in self.invent.values() for _ref, text in kept[:2])
            pair = kept[: 2 if self.merges and not is_made_up else 1]
            kept = kept[len(pair) :]
            text = " and ".join(text.rstrip(".") for _ref, text in pair) + "."
            bullets.append(f"- {text} (from: {', '.join(one for one, _text in pair)})")
        if not bullets:
            return ""
        return "\n".join([f'<memory chat="Part {ref}">', f"- [Flux, Wren — part {ref}]", *bullets, "</memory>"])


def completion(text: str, reason: str) -> dict[str, Any]:
    """An answer on OpenAI's wire."""
    return {
        "id": "x",
        "object": "chat.completion",
        "model": "fake-small",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}],
        "usage": {"prompt_tokens": 900, "completion_tokens": 90, "total_tokens": 990},
    }


def listed(prompt: str) -> list[tuple[str, str]]:
    """The memories of a prompt with their short ids."""
    material = prompt.partition("MEMORIES TO PUT IN ORDER\n")[2].partition("END OF MEMORIES")[0]
    return LINE.findall(material)


def heads(prompt: str) -> list[str]:
    """The lines above the memories of a prompt: label, date and topic of each block."""
    material = prompt.partition("MEMORIES TO PUT IN ORDER\n")[2].partition("END OF MEMORIES")[0]
    return [rest for _ref, rest in HEAD.findall(material)]


def word(number: int) -> str:
    """A word that no other number has."""
    size = len(SYLLABLES)
    return SYLLABLES[number // size // size % size] + SYLLABLES[number // size % size] + SYLLABLES[number % size]


def fill(file: MemoryFile, blocks: int, bullets: int = 2, **fields: Any) -> list[Memory]:
    """Blocks of memories that have nothing but Wren in common, a day apart; the memories in file order."""
    for n in range(blocks):
        numbers = range(n * bullets, (n + 1) * bullets)
        texts = [f"Wren hid the {word(7 * k + 1)} {word(11 * k + 5)} in {word(13 * k + 9).title()}." for k in numbers]
        date = f"2026-{1 + n // 28:02d}-{1 + n % 28:02d} 18:00"
        values = {"order": n, "date": date, **fields}
        block = make_block(file, f"Night {n + 1}", [f"[Flux, Wren — night {n + 1}]", *texts], **values)
        block.memories.filter(text__startswith="[").update(is_topic=True)
    rows = Memory.objects.for_user(file.owner).filter(block__file=file, is_topic=False)
    return list(rows.order_by("block__order", "order"))
