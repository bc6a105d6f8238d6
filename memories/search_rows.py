"""What can be found of the memories: every bullet, and of each block its topic and its label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from memories.models import Memory, MemoryBlock, MemoryFile
from search.registry import Container, Row, SearchKind

MEMORIES = "memories"
BULLET, BLOCK = "m", "b"  # first letter of a key; the id of the row follows


def _files() -> Iterable[Container]:
    rows = MemoryFile.objects.values_list("pk", "owner", "version", "character", "chat", "updated_at")
    for pk, owner, version, character, chat, updated_at in rows:
        yield Container(str(pk), owner, str(version), character, chat, updated_at)


def _marks(file: str) -> Iterable[tuple[str, str]]:
    for row in _all_rows(file):
        yield row.key, blake2b(f"{row.chat} {row.text}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _rows(file: str, keys: Sequence[str]) -> Iterable[Row]:
    wanted = set(keys)
    blocks = [key[1:] for key in keys if key[0] == BLOCK]
    bullets = [key[1:] for key in keys if key[0] == BULLET]
    return (row for row in _all_rows(file, blocks, bullets) if row.key in wanted)


def _all_rows(file: str, blocks: list[str] | None = None, bullets: list[str] | None = None) -> Iterable[Row]:
    """Blocks, then bullets, in file order; only those named when names are given."""
    of_file = MemoryBlock.objects.filter(file=UUID(file))
    if blocks is not None:
        of_file = of_file.filter(pk__in=blocks)
    about: dict[object, list[str]] = {}
    topics = Memory.objects.filter(block__in=of_file, is_topic=True).order_by("order")
    for block, text in topics.values_list("block", "text"):
        about.setdefault(block, []).append(text)
    for pk, label, chat, at in of_file.order_by("order").values_list("pk", "label", "chat", "created_at"):
        yield Row(f"{BLOCK}{pk}", "\n".join([*about.get(pk, ()), label]), at, chat)
    of_blocks = Memory.objects.filter(block__file=UUID(file), is_topic=False).order_by("block__order", "order")
    if bullets is not None:
        of_blocks = of_blocks.filter(pk__in=bullets)
    for pk, text, chat, at in of_blocks.values_list("pk", "text", "block__chat", "block__created_at"):
        yield Row(f"{BULLET}{pk}", text, at, chat)


KINDS = (SearchKind(MEMORIES, _("Memories"), _files, _marks, _rows),)
