"""The conformance cases: every function that exists gives what the case expects; the others are listed by name.

`CHARMEM_CONFORMANCE` may name further files of the same form, separated by colons.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memories import (
    answer,
    automatic_rules,
    blocks,
    charmemory_state,
    consolidation_plan,
    file_names,
    find_replace,
    formats,
    templating,
    transcript,
)
from memories.blocks import Block, Format
from memories.choices import CHECKS, Choices
from memories.quality import Gate, Scene
from memories.transcript import Entry
from sync.tavern import charmemory, chunks
from tests.support import conformance as support
from tests.support.members import resolve_members

DATA = Path(__file__).parents[1] / "data" / "conformance"

# Functions that the product does without, and why.
WITHOUT = {
    "escape_html": "not needed: templates escape",
}


def to_blocks(data: list[dict[str, Any]] | None) -> list[Block] | None:
    return None if data is None else [Block(one["chat"], one["date"], tuple(one["bullets"])) for one in data]


def from_blocks(found: list[Block]) -> list[dict[str, Any]]:
    return [{"chat": one.chat, "date": one.date, "bullets": list(one.bullets)} for one in found]


def to_format(data: dict[str, Any] | None) -> Format:
    return Format(data["boundary"], data["separator"], data["metadata"]) if data else Format()


def round_trip(case: dict[str, Any]) -> list[dict[str, Any]]:
    form = to_format(case["format"])
    text = blocks.serialize_memories(to_blocks(case["blocks"]) or [], form)
    whole = blocks.parse(text, form)
    assert list(whole.blocks) == blocks.parse_memories(text)
    assert whole.loose == ()
    return from_blocks(list(whole.blocks))


def append_unique(case: dict[str, Any]) -> dict[str, Any]:
    found, added, skipped = support.append_unique(to_blocks(case["dest"]), to_blocks(case["src"]))
    return {"blocks": from_blocks(found), "added": added, "skipped": skipped}


def format_messages(case: dict[str, Any]) -> dict[str, Any]:
    window = list(enumerate(case["messages"]))[case["start"] : case["end"]]
    lines = transcript.lines_of(to_entry(index, message) for index, message in window)
    return {
        "text": transcript.plain_lines(lines),
        "startIndex": window[0][0] if window else -1,
        "endIndex": window[-1][0] if window else -1,
        "messageCount": len(lines),
    }


def to_entry(index: int, message: dict[str, Any]) -> Entry:
    """A message as the mirror stores it: hidden ones keep their speaker's role, nameless notices are the system's."""
    name = message["name"] or ""
    is_notice = message["is_system"] and not message["is_user"] and not name
    role = "system" if is_notice else "user" if message["is_user"] else "character"
    return Entry(index, role, name, message["mes"], is_hidden=message["is_system"])


def to_search(case: dict[str, Any]) -> find_replace.Search:
    options = find_replace.Options(case["find"], case.get("replace", ""), is_case_sensitive=case["caseSensitive"])
    return find_replace.Search(options)


def replace_all(case: dict[str, Any]) -> dict[str, Any]:
    found, count = support.replace_all(to_blocks(case["blocks"]) or [], to_search(case))
    bullets = [bullet for block in found for bullet in block.bullets]
    return {"count": count, "labels": [block.chat for block in found], "bullets": bullets}


def convert_heuristic(case: dict[str, Any]) -> dict[str, Any]:
    found, warnings = support.convert_heuristic(case["content"], case["format"])
    return {"blocks": from_blocks(found), "warnings": len(warnings)}


def migrate(text: str | None) -> dict[str, Any]:
    found = support.migrate(text)
    if not isinstance(found, list):
        return {"text": found}
    return {"blocks": from_blocks(found), "blocks_dated": from_blocks(found)}


def without_dates(found: dict[str, Any]) -> dict[str, Any]:
    blocks_of = [{name: one[name] for name in one if name != "date"} for one in found["blocks"]]
    return {**found, "blocks": blocks_of}


def vector_chunks(case: dict[str, Any]) -> dict[str, Any]:
    settings = chunks.ChunkSettings(
        overlap_percent=case["overlap_percent"],
        force_delimiter=case["force_delimiter"],
        only_custom_boundary=case["only_custom_boundary"],
    )
    pieces = chunks.split_text(case["text"], case["chunk_size"], settings)
    hashes = [chunks.string_hash(piece) for piece in pieces]
    return {"hash": chunks.string_hash(case["text"]), "chunks": pieces, "chunk_hashes": hashes}


def estimate_size(case: dict[str, Any]) -> dict[str, int]:
    sizes = [support.block_chars(block["bullets"]) for block in case["blocks"]]
    found = consolidation_plan.estimate_size(
        sizes, prompt=case["promptTemplateLength"], output_ratio=case["outputRatio"]
    )
    return {"memoriesChars": found.memories, "promptChars": found.prompt, "outputCharsEstimate": found.answer}


def pack_chunks(case: dict[str, Any]) -> list[int]:
    sizes = [support.block_chars(block["bullets"]) for block in case["blocks"]]
    return consolidation_plan.pack(sizes, case["budget"])


def should_extract(case: dict[str, Any]) -> dict[str, Any]:
    """Their words for our verdicts; milliseconds since 1970 for our moments."""
    now = datetime.fromtimestamp(case["now"] / 1000, UTC)
    facts = automatic_rules.Facts(
        count=case["messagesSinceExtraction"],
        is_generating=case["isGenerating"],
        read_at=datetime.fromtimestamp(case["lastExtractionTime"] / 1000, UTC),
    )
    minutes = case["cooldownMs"] // 60_000
    choices = Choices(interval=case["interval"], lag=case["extractionLag"], cooldown_minutes=minutes)
    verdict = automatic_rules.decide(facts, choices, now)
    if verdict.fires:
        return {"fire": True}
    reasons = {"below": "below-interval", "waiting": "generation-active", "cooldown": "cooldown"}
    found: dict[str, Any] = {"fire": False, "reason": reasons[verdict.kind]}
    if verdict.until is not None:
        found["remainingMs"] = (verdict.until - now) // timedelta(milliseconds=1)
    return found


def skip_stale_reset(case: dict[str, Any]) -> bool:
    return charmemory_state.silence_is_no_proof(
        is_group=case["isGroup"],
        unresolved=case["unresolvedCount"],
        active=case["totalActive"],
        is_branch=case.get("isBranch", False),
        per_chat=case.get("perChat", False),
    )


def batch_state(case: dict[str, Any]) -> dict[str, dict[str, int]]:
    cards = [charmemory.CardChats(one["avatar"], one["name"], frozenset(one["chats"])) for one in case["cards"]]
    found: dict[str, dict[str, int]] = {}
    for (avatar, chat), index in charmemory.batch_points(case["batch"], cards).items():
        found.setdefault(avatar, {})[chat] = index
    return found


def quality_gate(scene: dict[str, Any]) -> list[str]:
    """The check that doubts each candidate of a scene most, "" where none does; hints about the form are none."""
    messages = [(one["name"], one["text"]) for one in scene["messages"]]
    gate = Gate(Scene(scene["character"], scene["card"], scene["existing"], scene["injected"], messages))
    found = [[one.check for one in gate.check(one["text"]) if one.check != "form"] for one in scene["candidates"]]
    return [checks[0] if checks else "" for checks in found]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "append_unique": append_unique,
    "batch_state": batch_state,
    "auto_file_name": lambda c: file_names.auto_file_name(c["name"], per_chat=c["perChat"], chat=c["chatId"]),
    "count_matches": lambda c: support.count_matches(to_blocks(c["blocks"]) or [], to_search(c)),
    "convert_heuristic": convert_heuristic,
    "classify": lambda c: [consolidation_plan.is_chat_name(label) for label in c],
    "count_memories": lambda c: support.count_memories(to_blocks(c) or []),
    "detect_format": formats.detect_format,
    "estimate_size": estimate_size,
    "escape_attr": blocks.escape_attr,
    "format_messages": format_messages,
    "merge_blocks": lambda c: from_blocks(support.merge_blocks(to_blocks(c) or [])),
    "migrate": migrate,
    "pack_chunks": pack_chunks,
    "parse_answer": answer.read_strictly,
    "parse_memories": lambda c: from_blocks(blocks.parse_memories(c)),
    "quality_gate": quality_gate,
    "reindex_set": lambda c: support.reindex_set(c["set"], c["removed"]),
    "replace_all": replace_all,
    "resolve_members": resolve_members,
    "round_trip": round_trip,
    "serialize_memories": lambda c: blocks.serialize_memories(to_blocks(c["blocks"]) or [], to_format(c["format"])),
    "should_extract": should_extract,
    "skip_stale_reset": skip_stale_reset,
    "split_multi_tag": blocks.split_multi_tag,
    "strip_non_diegetic": lambda c: transcript.strip(c).text,
    "substitute": lambda c: templating.substitute(c["template"], c["vars"]),
    "timestamp": lambda c: blocks.timestamp(datetime(*c)),
    "truncate": lambda c: transcript.truncate(c["text"], c["max"]),
    "unescape_attr": blocks.unescape_attr,
}


def load(path: Path) -> list[dict[str, Any]]:
    cases = json.loads(path.read_text(encoding="utf-8")).get("cases", [])
    return [normalise(case) for case in cases]


def normalise(case: dict[str, Any]) -> dict[str, Any]:
    """Cases of Vector Storage's cutting carry input and expectation side by side."""
    if "fn" in case:
        return case
    expected = {key: case[key] for key in ("hash", "chunks", "chunk_hashes")}
    return {"fn": "vector_chunks", "name": case["text"][:30], "input": case, "expect": expected, "compare": "equal"}


def _extra() -> list[Path]:
    return [Path(name) for name in os.environ.get("CHARMEM_CONFORMANCE", "").split(":") if name]


def all_cases() -> list[dict[str, Any]]:
    own = [DATA / "memory_file.json", DATA / "vector_storage_chunks.json"]
    own += [DATA.parent / "members.json", DATA.parent / "batch_state.json"]
    return [case for path in (*own, *_extra()) for case in load(path)]


FUNCTIONS["vector_chunks"] = vector_chunks
CASES = all_cases()
BUILT = [case for case in CASES if case["fn"] in FUNCTIONS and case.get("source") != "defect-do-not-copy"]


@pytest.mark.parametrize("case", BUILT, ids=lambda case: f"{case['fn']}: {case['name']}")
def test_case(case: dict[str, Any]) -> None:
    found = FUNCTIONS[case["fn"]](case["input"])
    if case.get("compare") == "no_dates" and "blocks" in found:
        found = without_dates(found)
    if case["fn"] == "migrate" or case.get("compare") in ("subset", "bullets"):
        found = {key: found[key] for key in case["expect"]}
    if case.get("compare") == "more_than_one_chunk_in_order":
        assert len(found) > 1 and sum(found) == len(case["input"]["blocks"])
        return
    assert found == case["expect"]


def all_scenes() -> list[dict[str, Any]]:
    files = [DATA / "quality_gate.json", *_extra()]
    return [scene for path in files for scene in json.loads(path.read_text(encoding="utf-8")).get("scenes", [])]


@pytest.mark.parametrize("scene", all_scenes(), ids=lambda scene: scene["id"])
def test_quality_gate(scene: dict[str, Any], record_property: Callable[[str, object], None]) -> None:
    """Labels are for the measure (`python -m bench gate`): here every candidate gets a verdict, and each is told."""
    found = quality_gate(scene)
    assert len(found) == len(scene["candidates"]) and set(found) <= {"", *CHECKS}
    for one, check in zip(scene["candidates"], found, strict=True):
        record_property(f"{one['label']}: {one['text']}", check or "accepted")


def test_chats_under_sillytaverns_own_names_are_fresh() -> None:
    """The other extension takes them for earlier consolidations (a case marked as a defect)."""
    defect = next(case for case in CASES if case["fn"] == "classify" and case["source"] == "defect-do-not-copy")
    assert not any(defect["expect"])
    assert all(consolidation_plan.is_chat_name(label) for label in defect["input"])
    assert consolidation_plan.is_fresh("extracted", is_locked=False), "what is fresh is said by the origin"
    assert not consolidation_plan.is_fresh("extracted", is_locked=True)
    assert not consolidation_plan.is_fresh("consolidated", is_locked=False)


@pytest.mark.parametrize(
    "name", ["quality_gate", "resolve_members", "should_extract", "skip_stale_reset", "batch_state"]
)
def test_what_extraction_needs_has_cases(name: str) -> None:
    count = sum(case["fn"] == name for case in CASES) if name != "quality_gate" else len(all_scenes())
    assert name in FUNCTIONS and count >= 5


def test_every_function_is_built_or_listed() -> None:
    unknown = {case["fn"] for case in CASES} - set(FUNCTIONS) - set(WITHOUT)
    assert not unknown, f"Conformance functions that nobody knows: {sorted(unknown)}"
    assert not set(FUNCTIONS) & set(WITHOUT)
