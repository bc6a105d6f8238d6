"""Mirrors of what SillyTavern stores, and what we hand back to it."""

from __future__ import annotations

from sync.models.databank import Attachment, FileConflict, Registration
from sync.models.lore import Lorebook, LorebookEntry
from sync.models.people import Character, Group, GroupMember
from sync.models.talk import Chat, Message
from sync.models.tavern import FileIssue, FolderGrant, ScannedFile, Tavern

__all__ = [
    "Attachment",
    "Character",
    "Chat",
    "FileConflict",
    "FileIssue",
    "FolderGrant",
    "Group",
    "GroupMember",
    "Lorebook",
    "LorebookEntry",
    "Message",
    "Registration",
    "ScannedFile",
    "Tavern",
]
