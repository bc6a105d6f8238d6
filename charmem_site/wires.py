"""Who hears what: the one list of connections between apps that may not import each other (jobs/events.py)."""

from __future__ import annotations


def connect() -> None:
    """Attach every listener. Called once when Django is ready."""
    _tell_the_people_pages()
    _carry_news_from_sillytavern()


def _tell_the_people_pages() -> None:
    """What the accounts app may show and remove without importing the apps above it."""
    from accounts import registries
    from charmem_site import account_removal, people_facts

    registries.people_facts.extend(people_facts.FACTS)
    registries.removals.extend(account_removal.REMOVALS)


def _carry_news_from_sillytavern() -> None:
    """Memory files edited outside, files whose Data Bank copy is behind, memories whose message changed, chats with
    enough news to be read by themselves (those last: what is unread has to be known)."""
    from memories import automatic, lines, outside_text, source_changes, watermark, write_back
    from memories import events as reading
    from sync import events

    events.databank_text_found.connect(outside_text.hear)
    events.pass_finished.connect(lines.hear)
    events.pass_finished.connect(write_back.sweep)
    events.chats_changed.connect(watermark.settle)
    events.chats_changed.connect(source_changes.hear)
    events.chats_changed.connect(automatic.hear)
    reading.reading_began.connect(automatic.began)
    reading.reading_ended.connect(automatic.ended)
