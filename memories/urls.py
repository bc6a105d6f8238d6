"""Pages of the field: home, characters, their memories, chats and history, and the first steps."""

from __future__ import annotations

from django.urls import path

from memories.views import blocks, bullets, characters, chats, conflict, history, home, reach, wizard

app_name = "memories"
urlpatterns = [
    path("", home.page, name="home"),
    path("home/live/", home.live, name="home_live"),
    path("characters/", characters.grid, name="characters"),
    path("characters/extract/", characters.extract_chosen, name="extract_chosen"),
    path("characters/<uuid:character_id>/", characters.page, name="character"),
    path("characters/<uuid:character_id>/live/", characters.live, name="character_live"),
    path("characters/<uuid:character_id>/extract/", characters.extract, name="extract"),
    path("characters/<uuid:character_id>/undo/", characters.undo, name="undo"),
    path("characters/<uuid:character_id>/write/", blocks.write, name="write_block"),
    path("characters/<uuid:character_id>/chats/", chats.of_character, name="chats"),
    path("characters/<uuid:character_id>/history/", history.page, name="history"),
    path("characters/<uuid:character_id>/health/", reach.page, name="health"),
    path("characters/<uuid:character_id>/settings/", characters.settings, name="character_settings"),
    path("blocks/<uuid:block_id>/", blocks.page, name="block"),
    path("blocks/<uuid:block_id>/add/", blocks.add, name="add_memory"),
    path("blocks/<uuid:block_id>/delete/", blocks.delete, name="delete_block"),
    path("blocks/<uuid:block_id>/move/", blocks.move, name="move_block"),
    path("memories/<uuid:memory_id>/", bullets.page, name="memory"),
    path("memories/<uuid:memory_id>/edit/", bullets.edit, name="edit_memory"),
    path("memories/<uuid:memory_id>/delete/", bullets.delete, name="delete_memory"),
    path("memories/<uuid:memory_id>/move/", bullets.move, name="move_memory"),
    path("chats/<uuid:chat_id>/", chats.page, name="chat"),
    path("chats/<uuid:chat_id>/extract/", chats.extract, name="extract_chat"),
    path("chats/<uuid:chat_id>/mark-read/", chats.mark_read, name="mark_read"),
    path("revisions/<uuid:revision_id>/", history.one, name="revision"),
    path("revisions/<uuid:revision_id>/restore/", history.restore, name="restore"),
    path("conflicts/<uuid:conflict_id>/", conflict.show, name="conflict"),
    path("conflicts/<uuid:conflict_id>/decide/", conflict.decide, name="conflict_decide"),
    path("files/<uuid:file_id>/rebuild/", conflict.rebuild_index, name="rebuild"),
    path("wizard/", wizard.start, name="wizard"),
    path("wizard/folder/", wizard.folder, name="wizard_folder"),
    path("wizard/model/", wizard.model, name="wizard_model"),
    path("wizard/first/", wizard.first, name="wizard_first"),
    path("wizard/first/live/", wizard.first_live, name="wizard_live"),
    path("wizard/later/", wizard.later, name="wizard_later"),
]
