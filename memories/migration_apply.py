"""Taking over what a person chose of the CharMemory extension's state. Each part is its own short piece of work and may
be done again: what is here already stays."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from hashlib import sha256

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from memories import choosing, memory_file, outside_text, own_prompts, watermark
from memories.migration import Offer, OwnName
from memories.models import MemoryScope, Snapshot
from providers.catalogue import PRESETS
from providers.connecting import ConnectionProblem, Wish, add_connection
from providers.models import Connection
from sync.charmemory_reading import read_stored_keys
from sync.models import Character, Message, Tavern
from sync.tavern.charmemory import ProviderChoice
from sync.tavern.folder import Folder
from sync.tavern.paths import PathRefused, file_of_url

SOURCE = "charmemory"
AT_ONCE = 200


@dataclass
class Taken:
    """What was taken over, in finished sentences, and what could not be."""

    done: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def take_over(user: User, offer: Offer, chosen: Collection[str]) -> Taken:
    """Take over the parts named in `chosen`: settings, scope, prompt:<name>, name:<character>, point:<chat>, snapshots,
    provider:<name>, keys."""
    taken = Taken()
    _take_settings(user, offer, chosen, taken)
    _take_prompts(user, offer, chosen, taken)
    for name in offer.names:
        if f"name:{name.character.pk}" in chosen:
            _take_name(offer.tavern, name, taken)
    _take_points(user, offer, chosen, taken)
    if "snapshots" in chosen:
        _take_snapshots(user, offer, taken)
    _take_providers(user, offer, chosen, taken)
    return taken


def _take_settings(user: User, offer: Offer, chosen: Collection[str], taken: Taken) -> None:
    values = {one.name: one.theirs for one in offer.choices if f"setting:{one.name}" in chosen}
    if values:
        choosing.change_settings(user, values)
        count = len(values)
        taken.done.append(ngettext("%(n)d setting.", "%(n)d settings.", count) % {"n": count})
    if "scope" in chosen and offer.is_per_chat:
        rows = Character.objects.for_user(user).filter(tavern=offer.tavern, gone_at=None, memory_scope=None)
        made = MemoryScope.objects.bulk_create(
            [MemoryScope(character=one, scope=MemoryScope.Scope.CHAT) for one in rows], ignore_conflicts=True
        )
        taken.done.append(_("One memory for each chat, for %(n)d characters.") % {"n": len(made)})


def _take_prompts(user: User, offer: Offer, chosen: Collection[str], taken: Taken) -> None:
    for prompt in offer.prompts:
        if f"prompt:{prompt.name}" not in chosen:
            continue
        try:
            own_prompts.save_text(user, prompt.name, prompt.text)
        except (ValueError, own_prompts.NoSuchPrompt) as error:
            taken.problems.append(str(error))
        else:
            taken.done.append(_("The prompt “%(name)s”.") % {"name": prompt.name.replace("_", " ")})


def _take_name(tavern: Tavern, name: OwnName, taken: Taken) -> None:
    """The file that bears the name already is adopted with its text; otherwise our file is called so from now on."""
    file = memory_file.file_for(name.character)
    about = {"name": name.name, "who": name.character.name}
    try:
        if name.attachment is not None and file.attachment_id is None:
            text, digest = _text_of(tavern, name.attachment.url)
            outside_text.tie(file, name.attachment)
            outside_text.take(file, name.attachment, text, digest)
            taken.done.append(_("The memory file %(name)s of %(who)s.") % about)
        elif file.attachment_id is None or name.attachment is None:
            outside_text.rename(file, name.name)
            taken.done.append(_("The file name %(name)s for %(who)s.") % about)
        else:
            said = _("%(who)s has a memory file already; %(name)s stays in the Data Bank, Import takes it in.")
            taken.problems.append(said % about)
    except (OSError, PathRefused, ValueError):
        taken.problems.append(_("%(name)s of %(who)s cannot be read; nothing was changed there.") % about)


def _text_of(tavern: Tavern, url: str) -> tuple[str, str]:
    with Folder(tavern.root) as folder:
        data = folder.read(file_of_url(url))
    return data.decode("utf-8-sig", "replace").replace("\x00", "\ufffd"), sha256(data).hexdigest()


def _take_points(user: User, offer: Offer, chosen: Collection[str], taken: Taken) -> None:
    """Everything up to its point counts as read, for each reader; nobody's own point is moved back."""
    count = 0
    for point in offer.points:
        if point.key not in chosen or point.is_behind:
            continue
        for character in point.readers:
            watermark.mark_read(user, point.chat, character, point.index)
        count += 1
    if count:
        said = ngettext("How far %(n)d chat was read.", "How far %(n)d chats were read.", count)
        taken.done.append(said % {"n": count})


def _take_snapshots(user: User, offer: Offer, taken: Taken) -> None:
    count = 0
    for chat, state in offer.injected.items():
        numbers = sorted(state.injected)
        for start in range(0, len(numbers), AT_ONCE):
            part = numbers[start : start + AT_ONCE]
            rows = Message.objects.for_user(user).filter(chat=chat, index__in=part).values_list("index", "identity")
            made = [
                Snapshot(
                    owner=user, chat=chat, identity=identity, index=index, source=SOURCE, data=state.injected[index]
                )
                for index, identity in rows
            ]
            with transaction.atomic():
                Snapshot.objects.bulk_create(made, ignore_conflicts=True)
            count += len(made)
    if count:
        said = ngettext("What was injected for %(n)d message.", "What was injected for %(n)d messages.", count)
        taken.done.append(said % {"n": count})


def _take_providers(user: User, offer: Offer, chosen: Collection[str], taken: Taken) -> None:
    wanted = [one for one in offer.providers if f"provider:{one.provider}" in chosen]
    keys = read_stored_keys(offer.tavern) if wanted and "keys" in chosen else {}
    for choice in wanted:
        _take_provider(user, choice, keys.get(choice.provider, ""), taken)


def _take_provider(user: User, choice: ProviderChoice, key: str, taken: Taken) -> None:
    preset = choice.provider if choice.provider in PRESETS else "custom"
    name = _("%(provider)s, from CharMemory") % {"provider": choice.provider}
    if Connection.objects.for_user(user).filter(name=name, model=choice.model).exists():
        return
    more = {"system_prompt": choice.system_prompt} if choice.system_prompt else None
    try:
        add_connection(user, Wish(preset, name, choice.base_url, key, choice.model, more))
    except ConnectionProblem as error:
        taken.problems.append(f"{choice.provider}: {error.message}")
    else:
        said = (
            _("The connection %(name)s.") if key or not choice.has_key else _("The connection %(name)s, without key.")
        )
        taken.done.append(said % {"name": choice.provider})
