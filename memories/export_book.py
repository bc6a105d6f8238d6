"""A character's memories as a book: one HTML file to read and to print, without scripts, every text escaped.

It is downloaded and never served as a page, so it carries its style in itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from django.utils.formats import date_format
from django.utils.html import escape
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from accounts.models import User
from memories import file_state
from memories.export_data import files_of
from memories.memory_filters import topic_parts
from memories.models import MemoryBlock, MemoryFile
from memories.templatetags.memories import block_date, chat_title
from sync.models import Character

STYLE = """
:root { color-scheme: light dark; --ink: #1d1b18; --quiet: #6b655c; --line: #d8d2c6; --paper: #fffdf8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e9e4da; --quiet: #a39c90; --line: #3a3731; --paper: #171614; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1.0625rem/1.6 ui-serif, Charter, Georgia, serif; }
main { max-width: 38rem; margin: 0 auto; padding: 3rem 1.25rem 5rem; }
header { text-align: center; padding: 4rem 0 3rem; border-bottom: 1px solid var(--line); margin-bottom: 2rem; }
h1 { font-size: 2.25rem; line-height: 1.2; margin: 0 0 .5rem; font-weight: 600; }
h2 { font-size: 1.5rem; margin: 3rem 0 1rem; font-weight: 600; }
h3 { font-size: 1.125rem; margin: 2rem 0 .25rem; font-weight: 600; break-after: avoid; }
p.note { color: var(--quiet); font: .875rem/1.5 system-ui, sans-serif; margin: 0 0 .5rem; }
ul { margin: .25rem 0 0; padding-inline-start: 1.25rem; } li { margin: .35rem 0; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: .9375rem/1.5 ui-serif, Georgia, serif; }
@page { margin: 20mm 18mm; }
@media print {
  :root { --ink: #000; --quiet: #444; --line: #999; --paper: #fff; }
  main { max-width: none; padding: 0; } header { padding: 30vh 0 0; border: 0; break-after: page; }
  body { font-size: 11pt; } li, h3 + p.note { break-inside: avoid; }
  h2 { break-before: page; } h2:first-of-type { break-before: auto; }
}
"""


def book(user: User, character: Character, *, made_at: datetime) -> Iterator[str]:
    """The book in pieces: the character's own file, then those of single chats, each in the order of the story."""
    files = files_of(user, character)
    name = escape(character.name)
    title = escape(_("What %(name)s remembers") % {"name": character.name})
    yield f'<!doctype html>\n<html lang="{escape(get_language() or "en")}">\n<head>\n<meta charset="utf-8">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<header>\n"
    yield f'<h1 dir="auto">{name}</h1>\n<p class="note">{escape(_counted(files))}</p>\n'
    yield f'<p class="note">{escape(date_format(made_at, "j F Y"))}</p>\n</header>\n'
    for file in files:
        if len(files) > 1:
            heading = chat_title(file.chat.name) if file.chat else character.name
            yield f'<h2 dir="auto">{escape(heading)}</h2>\n'
        yield from _chapters(file)
    yield "</main>\n</body>\n</html>\n"


def _counted(files: Iterable[MemoryFile]) -> str:
    count = sum(len(_facts(block)) for file in files for block in file_state.blocks_of(file))
    return ngettext("%(n)s memory", "%(n)s memories", count) % {"n": count}


def _facts(block: MemoryBlock) -> list[str]:
    return [memory.text for memory in block.memories.all() if not memory.is_topic]


def _chapters(file: MemoryFile) -> Iterator[str]:
    """One section a block; text that a person wrote around the blocks stands where it does in the file."""
    loose = {str(one["before"]): one["text"].strip() for one in file.loose_text}
    for block in file_state.blocks_of(file):
        yield _loose(loose.pop(str(block.pk), ""))
        topic = next((memory.text for memory in block.memories.all() if memory.is_topic), "")
        label = chat_title(block.label)
        heading = topic_parts(topic)[1] or label
        note = ", ".join(part for part in (label if label != heading else "", block_date(block.date)) if part)
        yield f'<section>\n<h3 dir="auto">{escape(heading)}</h3>\n<p class="note" dir="auto">{escape(note)}</p>\n<ul>\n'
        yield "".join(f'<li dir="auto">{escape(text)}</li>\n' for text in _facts(block))
        yield "</ul>\n</section>\n"
    yield from (_loose(text) for text in loose.values())


def _loose(text: str) -> str:
    return f'<pre dir="auto">{escape(text)}</pre>\n' if text else ""
