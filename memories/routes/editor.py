"""Editing surface: drafts, merging, trash."""

from __future__ import annotations

from django.urls import URLPattern, path

from memories.views import (
    editor,
    editor_blocks,
    editor_bullets,
    editor_chosen,
    editor_merge,
    editor_move,
    trash,
)

DRAFT = "drafts/<uuid:draft_id>/"
BLOCK = f"{DRAFT}blocks/<uuid:block_id>/"
MEMORY = f"{DRAFT}memories/<uuid:memory_id>/"

urlpatterns: list[URLPattern] = [
    path("characters/<uuid:character_id>/edit/", editor.open_edit, name="edit_memories"),
    path(DRAFT, editor.page, name="draft"),
    path(f"{DRAFT}undo/", editor.undo, name="draft_undo"),
    path(f"{DRAFT}redo/", editor.redo, name="draft_redo"),
    path(f"{DRAFT}save/", editor.save, name="draft_save"),
    path(f"{DRAFT}leave/", editor.leave, name="draft_leave"),
    path(f"{DRAFT}resume/", editor.resume, name="draft_resume"),
    path(f"{DRAFT}merge/", editor_merge.page, name="draft_merge"),
    path(f"{DRAFT}add/", editor_blocks.add_block, name="draft_add_block"),
    path(f"{DRAFT}chosen/", editor_chosen.act, name="draft_chosen"),
    path(f"{DRAFT}move/", editor_move.page, name="draft_move"),
    path(BLOCK, editor_blocks.actions, name="draft_block"),
    path(f"{BLOCK}edit/", editor_blocks.edit, name="draft_edit_block"),
    path(f"{BLOCK}add/", editor_bullets.add, name="draft_add_memory"),
    path(MEMORY, editor_bullets.actions, name="draft_memory"),
    path(f"{MEMORY}edit/", editor_bullets.edit, name="draft_edit_memory"),
    path("characters/<uuid:character_id>/trash/", trash.page, name="trash"),
    path("trash/<uuid:item_id>/put-back/", trash.put_back, name="put_back"),
    path("characters/<uuid:character_id>/clear/", trash.clear, name="clear"),
]
