"""One bullet of an edit as a row. A page shows sixty of them, so what all have is put together here at once; the marks
that only some have are a template of their own (memories/_draft_marks.html)."""

from __future__ import annotations

from django import template
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memories.draft_cards import DraftBullet
from memories.templatetags.memories import row_url

register = template.Library()

ROW = """<li class="bullet{touched}" id="m{id}" data-item data-memory="{id}">{check}\
<p class="text" dir="auto"><a class="edit-this" id="t{id}" draggable="false" href="{edit}" hx-get="{edit}" data-key="e"\
>{text}</a></p>\
<a class="icon-btn grip" id="g{id}" draggable="true" href="{actions}" hx-get="{actions}" hx-target="#modal"\
 hx-swap="innerHTML" data-key="." aria-label="{label}">{grip}</a>{marks}</li>"""
CHECK = (
    """<input class="check" type="checkbox" name="memory" value="{}" form="chosen" data-key="x" aria-label="{}"{}>"""
)


@register.simple_tag(takes_context=True)
def draft_row(context: Context, bullet: DraftBullet, grip: SafeString) -> SafeString:
    """`{% draft_row bullet grip %}`; from the context: `draft`, `place`, `is_all_chosen`. `grip` is its handle."""
    row, draft = bullet.memory, context["draft"]
    return format_html(
        ROW,
        id=row.id,
        touched=" is-touched" if row.is_new or row.is_changed else "",
        check=_check(context, bullet),
        edit=row_url("memories:draft_edit_memory", draft.pk, row.id),
        text=row.text,
        actions=row_url("memories:draft_memory", draft.pk, row.id),
        label=bullet.actions_label,
        grip=grip,
        marks=_marks(context, bullet) if bullet.is_marked else "",
    )


def _check(context: Context, bullet: DraftBullet) -> str:
    """The box with which it is chosen, where something can be done with several."""
    if not getattr(context.get("place"), "is_list", False):
        return ""
    checked = SafeString(" checked") if context.get("is_all_chosen") else ""
    return format_html(CHECK, bullet.memory.id, bullet.choose_label, checked)


def _marks(context: Context, bullet: DraftBullet) -> SafeString:
    template = context.template.engine.get_template("memories/_draft_marks.html")  # type: ignore[union-attr]
    with context.push(bullet=bullet):
        return SafeString(template.render(context))
