"""Memories of characters: files, blocks, bullets, their history, edits in progress, and how far each chat was read."""

from __future__ import annotations

from memories.models.drafts import Draft, DraftStep, Proposal, ProposalPart
from memories.models.files import Memory, MemoryBlock, MemoryFile
from memories.models.history import Ancestor, Revision, RevisionText, TrashItem
from memories.models.prompts import PromptOverride
from memories.models.reading import ExtractedChunk, ExtractionSettings, Watermark
from memories.models.review import ReviewPair

__all__ = [
    "Ancestor",
    "Draft",
    "DraftStep",
    "ExtractedChunk",
    "ExtractionSettings",
    "Memory",
    "MemoryBlock",
    "MemoryFile",
    "PromptOverride",
    "Proposal",
    "ProposalPart",
    "ReviewPair",
    "Revision",
    "RevisionText",
    "TrashItem",
    "Watermark",
]
