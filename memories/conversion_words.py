"""What an import says to people: why a line is left over, what to know about a source, why something is refused."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

FORMAT_NAMES = {
    "memory_tags": gettext_lazy("Memory file"),
    "memory_headings": gettext_lazy("Memory file of an older form"),
    "markdown_headings": gettext_lazy("Markdown with headings"),
    "bullets": gettext_lazy("Bullet list"),
    "numbered": gettext_lazy("Numbered list"),
    "freeform": gettext_lazy("Plain text"),
    "csv": gettext_lazy("Table"),
    "json": gettext_lazy("JSON"),
    "jsonl": gettext_lazy("JSON, one entry a line"),
    "lorebook": gettext_lazy("Lorebook"),
    "export": gettext_lazy("Another extension’s export"),
}


def why_left(code: str) -> str:
    """Why a line is in no memory."""
    return {
        "no_words": _("no words in it"),
        "never_ends": _("a tag that never ends"),
        "stray_close": _("an end without a beginning"),
        "attribute": _("a part of a tag that has no place here"),
        "empty_block": _("a block without memories"),
        "empty_heading": _("a heading with nothing under it"),
        "heading_rest": _("more than a number in the heading"),
        "title": _("the title of the whole text"),
        "note": _("a note to yourself?"),
        "comment": _("a hidden comment"),
        "missing": _("the model left it out"),
    }.get(code, code)


def warning(code: str) -> str:
    """What a person should know about the source before saving; "" when there is nothing to say."""
    return {
        "freeform": _("This is plain text without lists or headings (freeform). Each sentence became a memory."),
        "already": _("This is a memory file already. Its blocks are taken over as they are."),
        "unclosed": _("A block has no closing tag. It was read up to the next one."),
        "guessed_encoding": _(
            "The file does not say which letters it uses; Western European was guessed. Look at letters with accents."
        ),
        "broken_encoding": _("Some characters of the file are damaged and show as �."),
        "settings": _(
            "Names, keys and texts were taken. Switches, numbers and ids of the other program were left out."
        ),
        "broken_json": _("This looks like JSON, but it is damaged. It was read as plain text."),
    }.get(code, "")


def refusal(code: str, name: str) -> str:
    """Why nothing can be read from a source."""
    return {
        "chat": _(
            "%(name)s is a chat, not notes. Put it among the chats in SillyTavern and extract it there; "
            "nothing was imported."
        ),
        "binary": _("%(name)s is not a text file. Save it as text, Markdown, JSON or CSV; nothing was imported."),
        "empty": _("%(name)s holds no words. Nothing was imported."),
        "too_big": _(
            "%(name)s is larger than 24 MB. Cut it into smaller files and import them one after another; "
            "nothing was imported."
        ),
    }[code] % {"name": name}
