"""The vector index of a memory file, built beside the live one and swapped in by rename (spec/sillytavern §7d).

What reaches a prompt is the text inside the index, not the file. SillyTavern embeds our chunks into a private staging
collection with the person's own source and key; the finished index.json then takes the place of the live one in a
single step. The live collection is never purged: an open tab would refill it from its old copy of the file.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from sync import outbox, registration
from sync.models import Attachment, Tavern
from sync.tavern.chunks import Chunk, collection_of, file_chunks
from sync.tavern.folder import Folder
from sync.tavern.paths import PathRefused
from sync.tavern.server import Server, ServerError
from sync.tavern_server import server_of
from sync.vector_settings import (
    BATCH,
    CONNECTION_SETTINGS,
    SourceNotPossible,
    chunk_settings,
    index_key,
    model_of,
    request_body,
    source_of,
)

UNSAFE_IN_NAMES = re.compile(r'[/?<>\\:*|"\x00-\x1f\x80-\x9f]')  # left out of a model's folder name
ANEW = "anew"  # in place of a hash: somebody asked for the index to be built again
PLACEHOLDER = "(nothing)"  # embedders refuse empty text; the index gets the empty text back before the swap
# SillyTavern's vector endpoints do not stand parallel calls, so one index at a time for each tavern.
_at_work: dict[UUID, threading.Lock] = defaultdict(threading.Lock)


class IndexNotBuilt(Exception):
    """Why there is no current index, as a sentence and what to do; `state` is what the attachment shows."""

    def __init__(self, message: str, hint: str = "", state: str = Attachment.Index.FAILED) -> None:
        super().__init__(message)
        self.sentence = f"{message} {hint}".strip()
        self.state = state


def rebuild_index(attachment: Attachment, *, force: bool = False) -> bool:
    """Bring the index in line with the file on disk; True when it is current. What hinders is kept in `index_note`.

    Nothing is embedded again while text, cutting, source and model are as they were, unless `force`; an index that
    SillyTavern built of this very text is taken as it is.
    """
    if is_current(attachment) and not force:
        return True
    try:
        found = outbox.read_file(attachment)
        if found is None:
            _check_possible(attachment.tavern)  # which a person can do something about
            raise IndexNotBuilt(_("The file is not in the Data Bank yet."), state=Attachment.Index.STALE)
        text, digest = found
        chunks = _chunks(attachment, text)
        is_wanted_anew = force or attachment.index_hash == ANEW
        if is_wanted_anew or not _stands_already(attachment, chunks):
            _check_possible(attachment.tavern)
            _note(attachment, Attachment.Index.BUILDING, "")
            with _at_work[attachment.tavern_id]:
                _build(attachment, chunks)
    except IndexNotBuilt as problem:
        _note(attachment, problem.state, problem.sentence)
        return False
    except outbox.WriteFailed as problem:
        _note(attachment, Attachment.Index.FAILED, f"{problem.message} {problem.hint}")
        return False
    attachment.index_hash = _key(attachment, digest)
    attachment.index_chunks, attachment.indexed_at = len(chunks), timezone.now()
    _note(attachment, Attachment.Index.CURRENT, "", "index_hash", "index_chunks", "indexed_at")
    return True


def is_current(attachment: Attachment) -> bool:
    """Whether the index was built for the text last seen and for the settings last seen. Asks no server."""
    is_built = attachment.index_state == Attachment.Index.CURRENT
    return is_built and attachment.index_hash == _key(attachment, attachment.file_hash)


def can_build(tavern: Tavern) -> bool:
    """Whether an index can be built from here at all with the settings last seen."""
    return not why_not(tavern)


def why_not(tavern: Tavern) -> str:
    """Why no index can be built from here with the settings last seen, and what to do; "" when it can."""
    try:
        _check_possible(tavern)
        request_body(tavern.vectors, tavern.server_urls)
    except IndexNotBuilt as problem:
        return problem.sentence
    except SourceNotPossible as source:
        return _only_in_browser(source).sentence
    return ""


def was_looked_at(attachment: Attachment) -> bool:
    """Whether this index was ever built, found or refused."""
    return bool(attachment.index_hash or attachment.index_note)


def _stands_already(attachment: Attachment, chunks: Sequence[Chunk]) -> bool:
    """Whether the live index on disk holds exactly these chunks, by the model that is chosen now."""
    vectors = attachment.tavern.vectors
    model = UNSAFE_IN_NAMES.sub("", model_of(vectors))
    if not model or not chunks or not vectors.get("enabled_files"):
        return False
    path = f"vectors/{source_of(vectors)}/{collection_of(attachment.url)}/{model}/index.json"
    try:
        with Folder(attachment.tavern.folder) as folder:
            items = [item["metadata"] for item in json.loads(folder.read(path))["items"]]
        standing = sorted((int(one["hash"]), str(one["text"])) for one in items)
    except (OSError, PathRefused, ValueError, TypeError, KeyError):  # none, not readable, or something else
        return False
    return standing == sorted((chunk.hash, chunk.text) for chunk in chunks)


def forget(attachment: Attachment) -> None:
    """Have the next `rebuild_index` build it anew, whatever it knows."""
    attachment.index_hash = ANEW
    _note(attachment, Attachment.Index.STALE, "", "index_hash")


def _check_possible(tavern: Tavern) -> None:
    if not tavern.url:
        raise IndexNotBuilt(
            _("SillyTavern's address is not known, so its vector index was not renewed."),
            _(
                "Add the address in Settings, SillyTavern. Without it, press Purge Vectors under File vectorization "
                "settings; the browser reads the new text then if the companion is installed or its cache is emptied."
            ),
            Attachment.Index.STALE,
        )
    if not tavern.vectors.get("enabled_files"):
        raise IndexNotBuilt(
            _("“Enable for files” is off in SillyTavern's Vector Storage, so nothing was embedded."),
            _("Tick it under Extensions, Vector Storage, Files; the index is then built by itself."),
            Attachment.Index.STALE,
        )


def _only_in_browser(source: SourceNotPossible) -> IndexNotBuilt:
    return IndexNotBuilt(
        _("The vectorization source “%(source)s” works only inside the browser.") % {"source": source},
        _("Choose another source under Vector Storage, or press Purge Vectors there after each extraction."),
        Attachment.Index.STALE,
    )


def _chunks(attachment: Attachment, text: str) -> list[Chunk]:
    return file_chunks(text, registration.wanted_size(attachment), chunk_settings(attachment.tavern.vectors))


def _key(attachment: Attachment, digest: str) -> str:
    return index_key(attachment.url, digest, registration.wanted_size(attachment), attachment.tavern.vectors)


def _build(attachment: Attachment, chunks: Sequence[Chunk]) -> None:
    """Stage, swap, verify. Raises IndexNotBuilt; the live index is whole at every moment."""
    tavern, live = attachment.tavern, collection_of(attachment.url)
    try:
        with server_of(tavern) as server, Folder(tavern.folder) as folder:
            body = _body(tavern, server)
            with _staging(server) as stage:
                _embed(server, body, stage, chunks)
                _swap(folder, source_of(tavern.vectors), stage, live, chunks)
            if sorted(server.list_vectors(body, live)) != sorted(chunk.hash for chunk in chunks):
                raise IndexNotBuilt(_("SillyTavern does not show the new index."), _("Press Rebuild."))
    except ServerError as problem:
        raise IndexNotBuilt(problem.message, problem.hint) from problem
    except SourceNotPossible as problem:
        raise _only_in_browser(problem) from problem
    except (OSError, PathRefused) as problem:
        reason = getattr(problem, "strerror", "") or str(problem)
        raise IndexNotBuilt(
            _("The vector index could not be put in place: %(reason)s.") % {"reason": reason},
            _("Check that CharMem may write to the vectors folder of SillyTavern."),
        ) from problem


def _body(tavern: Tavern, server: Server) -> dict[str, Any]:
    wanted = CONNECTION_SETTINGS.get(source_of(tavern.vectors), ())
    connection = server.settings().get("oai_settings", {}) if wanted else {}
    return request_body(tavern.vectors, tavern.server_urls, connection)


@contextmanager
def _staging(server: Server) -> Iterator[str]:
    """A private collection that is thrown away again in any case."""
    name = f"charmem_{secrets.token_hex(12)}"
    try:
        yield name
    finally:
        with suppress(ServerError):
            server.purge_vectors(name)


def _embed(server: Server, body: dict[str, Any], stage: str, chunks: Sequence[Chunk]) -> None:
    for start in range(0, len(chunks), BATCH):
        batch = [_embeddable(chunk) for chunk in chunks[start : start + BATCH]]
        server.insert_vectors(body, stage, batch)


def _embeddable(chunk: Chunk) -> Chunk:
    return chunk if chunk.text.strip() else Chunk(chunk.hash, PLACEHOLDER, chunk.index)


def _swap(folder: Folder, source: str, stage: str, live: str, chunks: Sequence[Chunk]) -> None:
    """Rename the staged index.json over the live one, in whatever model folder SillyTavern made for it."""
    model = next((entry.name for entry in folder.list(f"vectors/{source}/{stage}") if entry.kind == "folder"), "")
    inner = f"{model}/index.json" if model else "index.json"
    staged = f"vectors/{source}/{stage}/{inner}"
    blank = {chunk.hash for chunk in chunks if not chunk.text.strip()}
    if blank:
        folder.write_atomic(staged, _with_blanks(folder.read(staged), blank))
    folder.make_folder(f"vectors/{source}/{live}/{model}".rstrip("/"))
    folder.rename(staged, f"vectors/{source}/{live}/{inner}")


def _with_blanks(data: bytes, blank: set[int]) -> bytes:
    index = json.loads(data)
    for item in index["items"]:
        if item["metadata"]["hash"] in blank:
            item["metadata"]["text"] = ""
    return json.dumps(index, ensure_ascii=False).encode()


def _note(attachment: Attachment, state: str, note: str, *more: str) -> None:
    if (attachment.index_state, attachment.index_note) == (state, note) and not more:
        return
    attachment.index_state, attachment.index_note = state, note
    attachment.save(update_fields=["index_state", "index_note", *more])
