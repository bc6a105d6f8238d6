"""Memories of characters: files, blocks, bullets, their history, and how far each chat has been read."""

from __future__ import annotations

from memories.models.files import Memory, MemoryBlock, MemoryFile
from memories.models.history import Revision, RevisionText
from memories.models.reading import ExtractedChunk, ExtractionSettings, Watermark

__all__ = [
    "ExtractedChunk",
    "ExtractionSettings",
    "Memory",
    "MemoryBlock",
    "MemoryFile",
    "Revision",
    "RevisionText",
    "Watermark",
]
