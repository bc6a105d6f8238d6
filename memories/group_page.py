"""What the pages of one group show: its members with what each remembers, how far each has read, and what runs."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Q

from accounts.models import User
from jobs.models import Job
from memories.automatic_state import AutoState, state_of
from memories.choices import EACH, TOGETHER, Choices
from memories.chosen import choices_for
from memories.group_table import Correction, Row, Suggestion, likely, presence, worst_of
from memories.member_rules import LEFT_OUT, PERSONA
from memories.members import Member, Roster, roster
from memories.models import MemoryBlock, MemoryFile, Watermark
from memories.page_queries import Word
from memories.reset_cost import Cost, cost_of_reading
from memories.unread import Unread, unread_by_member
from providers.models import Connection
from providers.purposes import EXTRACTION
from providers.queries import connection_for
from sync.models import Character, Chat, Group, Message

MOST_COSTS = 1_000
ASKED = 4  # unknown names about which the page itself asks

# (group, way of asking, member or None): what was unread, and what reading that costs
_costs: dict[tuple[UUID, str, UUID | None], tuple[Any, Cost]] = {}


class GroupFrame:
    """Facts of a group's pages, each read when a page shows it."""

    def __init__(self, user: User, group: Group) -> None:
        self.user = user
        self.group = group

    @cached_property
    def roster(self) -> Roster:
        return roster(self.user, self.group)

    @cached_property
    def chats(self) -> list[Chat]:
        """The chats that are still there, the one used last first."""
        rows = Chat.objects.for_user(self.user).filter(group=self.group, gone_at=None)
        return list(rows.select_related("tavern").order_by(F("last_at").desc(nulls_last=True), "name"))

    @property
    def newest(self) -> Chat | None:
        """The chat that was used last."""
        return self.chats[0] if self.chats else None

    @property
    def messages(self) -> int:
        return sum(chat.message_count for chat in self.chats)

    @cached_property
    def hidden(self) -> int:
        """Messages that SillyTavern keeps from the model."""
        return Message.objects.for_user(self.user).filter(chat__in=self.chats, is_hidden=True).count()

    @cached_property
    def choices(self) -> Choices:
        return choices_for(self.user, self.group)

    @cached_property
    def connection(self) -> Connection | None:
        return connection_for(self.user, EXTRACTION)

    @cached_property
    def _counts(self) -> dict[UUID, tuple[int, int]]:
        """(memories from this group's chats, all memories) by member."""
        rows = MemoryBlock.objects.for_user(self.user).filter(file__character__in=self.roster.characters).order_by()
        bullets = Q(memories__is_topic=False)
        counted = rows.values_list("file__character").annotate(
            here=Count("memories", filter=bullets & Q(chat__group=self.group)), n=Count("memories", filter=bullets)
        )
        return {pk: (here, n) for pk, here, n in counted}

    @property
    def memories(self) -> int:
        """What all members remember from this group's chats."""
        return sum(here for here, _all in self._counts.values())

    @cached_property
    def unread_by_member(self) -> dict[UUID, Unread]:
        return unread_by_member(self.user, self.group)

    @property
    def unread(self) -> int:
        """Messages that the member with most unread ones has not read."""
        return max((one.messages for one in self.unread_by_member.values()), default=0)

    @cached_property
    def each(self) -> Cost:
        """What reading everything unread would take when each member is asked alone."""
        return self._cost(EACH)

    @cached_property
    def together(self) -> Cost:
        """The same with one call for all of them."""
        return self._cost(TOGETHER)

    @property
    def is_together_cheaper(self) -> bool:
        """Usually; not when the members have different stretches to read."""
        return not self.unread or self.together.tokens_in <= self.each.tokens_in

    @property
    def cost(self) -> Cost:
        """The one that is chosen."""
        return self.together if self.choices.group_calls == TOGETHER else self.each

    def cost_of(self, member: Character) -> Cost:
        """What reading the rest for one member would take."""
        return self._cost(EACH, member)

    def _cost(self, way: str, member: Character | None = None) -> Cost:
        """Worked out once for what is unread: pages ask every few seconds."""
        key = (self.group.pk, way, None if member is None else member.pk)
        one = self.connection
        unread = {pk: part.messages for pk, part in self.unread_by_member.items()}
        facts = (unread, self.choices, one and (one.pk, one.model, one.price_in, one.price_out))
        known = _costs.get(key)
        if known is None or known[0] != facts:
            if len(_costs) >= MOST_COSTS:
                _costs.clear()
            members = None if member is None else [member]
            found = cost_of_reading(self.user, group=self.group, members=members, group_calls=way)
            known = _costs[key] = (facts, found)
        return known[1]

    @cached_property
    def files(self) -> dict[UUID, MemoryFile]:
        """Each member's own memory file."""
        rows = MemoryFile.objects.for_user(self.user).filter(character__in=self.roster.characters, chat=None)
        return {file.character_id: file for file in rows.select_related("attachment")}

    @cached_property
    def job(self) -> Job | None:
        """The newest reading of the whole group."""
        jobs = Job.objects.for_user(self.user).filter(subject=f"group:{self.group.pk}")
        return jobs.order_by("-created_at").first()

    @property
    def running(self) -> Job | None:
        return self.job if self.job and self.job.is_active else None

    @property
    def now(self) -> str:
        """What is being read: “Alice (2 of 6)”, or what a reading for all together is doing."""
        if self.running is None or not self.running.is_batch:
            return self.running.doing if self.running else ""
        at_work = [one.label for one in self.parts if one.state == Job.State.RUNNING]
        return ", ".join(at_work or [one.label for one in self.parts if one.is_active][:1])

    @cached_property
    def auto(self) -> AutoState:
        """Why the group is, or is not, read by itself right now."""
        return state_of(self.user, self.group)

    @property
    def failed_together(self) -> Job | None:
        """The last reading of all in one call, when it failed."""
        is_failed = self.job and not self.job.is_batch and self.job.state == Job.State.FAILED
        return self.job if is_failed and self.unread else None

    @property
    def pace(self) -> int:
        """Seconds until the page asks again."""
        return 2 if self.running or any(row.is_reading for row in self.rows) else 15

    @cached_property
    def parts(self) -> list[Job]:
        """The members' parts of the newest reading, in their order."""
        return list(self.job.children.order_by("created_at", "pk")) if self.job and self.job.is_batch else []

    @cached_property
    def rows(self) -> list[Row]:
        present, marks, jobs = presence(self.user, self.group, self.roster), self._marks, self._jobs
        return [self._row(one, present, marks, jobs) for one in self.roster.members]

    def _row(
        self, member: Member, present: dict[UUID, int], marks: dict[UUID, Watermark], jobs: dict[UUID, Job]
    ) -> Row:
        pk = member.character.pk
        here, everywhere = self._counts.get(pk, (0, 0))
        return Row(
            member,
            file=self.files.get(pk),
            present=present.get(pk, 0),
            memories=here,
            all_memories=everywhere,
            unread=self.unread_by_member.get(pk, Unread()),
            mark=marks.get(pk),
            job=jobs.get(pk) or (self.running if self.running and not self.running.is_batch else None),
        )

    @cached_property
    def failed(self) -> list[Row]:
        """Members whose last reading failed, with the price of the rest."""
        found = [row for row in self.rows if row.failed]
        for row in found:
            row.price = self.cost_of(row.character).price
        return found

    @cached_property
    def _marks(self) -> dict[UUID, Watermark]:
        rows = Watermark.objects.for_user(self.user).filter(chat__in=self.chats[:1])
        return {row.character_id: row for row in rows}

    @cached_property
    def _jobs(self) -> dict[UUID, Job]:
        """The newest reading of this group's chats by member."""
        subjects = {f"character:{one.pk}": one.pk for one in self.roster.characters}
        here = {str(chat.pk) for chat in self.chats}
        alone = Job.objects.for_user(self.user).filter(kind="extract", subject__in=subjects, parent=None)
        newest = alone.order_by("-created_at")[: 5 * len(subjects)]
        of_group = (job for job in newest if here & set(map(str, job.params.get("chats") or ())))
        found: dict[UUID, Job] = {}
        for job in sorted((*self.parts, *of_group), key=lambda one: one.created_at, reverse=True):
            if job.subject in subjects:
                found.setdefault(subjects[job.subject], job)
        return found

    @property
    def aside(self) -> list[Correction]:
        """Seats and speakers that a person said something about, in the order of the group."""
        by_avatar = {one.avatar: one for one in self.cards}
        said = (one for one in self.roster.entries if one.key in self.roster.choices)
        return [Correction(one, by_avatar.get(one.stands_for or one.key)) for one in said]

    @property
    def left_out(self) -> list[Correction]:
        """Who sits or speaks and is not asked because a person said so, with the card of its file if there is one."""
        by_avatar = {one.avatar: one for one in self.cards}
        silent = (one for one in self.roster.entries if one.kind in (PERSONA, LEFT_OUT))
        return [Correction(one, by_avatar.get(one.key)) for one in silent]

    @cached_property
    def suggestions(self) -> list[Suggestion]:
        return [Suggestion(one, likely(one, self.cards)) for one in self.roster.unknown]

    @property
    def more_unknown(self) -> int:
        """Unknown names besides those that the page asks about one by one."""
        return len(self.roster.unknown) - ASKED

    @cached_property
    def cards(self) -> list[Character]:
        """All cards of this SillyTavern, by name, without their texts."""
        rows = Character.objects.for_user(self.user).filter(tavern=self.group.tavern_id, gone_at=None)
        return list(rows.only("avatar", "name", "portrait_hash", "tavern").order_by("name", "avatar"))

    @cached_property
    def options(self) -> list[tuple[UUID, str]]:
        """The cards as a list to choose from; cards of one name are told apart by their files."""
        names = Counter(one.name.strip().casefold() for one in self.cards)
        twins = {name for name, count in names.items() if count > 1}
        return [
            (one.pk, f"{one.name} ({one.avatar})" if one.name.strip().casefold() in twins else one.name)
            for one in self.cards
        ]

    @property
    def worst(self) -> Word:
        """The health of the member whose file is worst off."""
        return worst_of(row.health for row in self.rows)
