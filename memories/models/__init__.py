"""Memories of characters: files, blocks, bullets, their history, edits in progress, and how far each chat was read."""

from __future__ import annotations

from memories.models.activity import Activity, ActivityText, Snapshot
from memories.models.drafts import Draft, DraftStep, Proposal, ProposalPart
from memories.models.files import Memory, MemoryBlock, MemoryFile
from memories.models.gate import GateCount, HeldMemory
from memories.models.history import Ancestor, Revision, RevisionText, TrashItem
from memories.models.prompts import PromptOverride
from memories.models.reading import (
    ChatActivity,
    ExtractedChunk,
    ExtractionOverride,
    ExtractionSettings,
    MemberChoice,
    Watermark,
)
from memories.models.review import ReviewPair
from memories.models.scopes import MemoryLine, MemoryScope, MemoryShare

__all__ = [
    "Activity",
    "ActivityText",
    "Ancestor",
    "ChatActivity",
    "Draft",
    "DraftStep",
    "ExtractedChunk",
    "ExtractionOverride",
    "ExtractionSettings",
    "GateCount",
    "HeldMemory",
    "MemberChoice",
    "Memory",
    "MemoryBlock",
    "MemoryFile",
    "MemoryLine",
    "MemoryScope",
    "MemoryShare",
    "PromptOverride",
    "Proposal",
    "ProposalPart",
    "ReviewPair",
    "Revision",
    "RevisionText",
    "Snapshot",
    "TrashItem",
    "Watermark",
]
