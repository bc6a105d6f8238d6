"""What is remembered of a file belongs to one version of it, and to nothing that was taken back."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import transaction
from django.template import Context, Template
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from memories import memory_file
from memories.models import MemoryFile
from memories.outlines import Outline, outline_of
from tests.support.builders import make_character, make_tavern

TAG = "[Wren, Tom — The lantern oath]"


class Refused(Exception):
    """Something went wrong behind a change."""


def file_with(user: User, *bullets: str) -> MemoryFile:
    file = memory_file.file_for(make_character(make_tavern(user), "Flux"))
    add(file, *bullets)
    return file


def add(file: MemoryFile, *bullets: str) -> None:
    with memory_file.change(file, reason="written", writes_back=False) as editor:
        editor.add_block("evening", list(bullets), origin="written")


def outline_now(file: MemoryFile) -> Outline:
    """As a page reads it that finds the file afresh."""
    return outline_of(MemoryFile.objects.for_user(file.owner).get(pk=file.pk))


@pytest.mark.django_db(transaction=True)
def test_a_file_that_did_not_change_is_read_once(
    alice: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    file = file_with(alice, TAG, "She kept the lantern.", "He saw it.")
    first = outline_now(file)
    assert (first.memories, len(first.blocks), first.casts) == (2, 1, {"Wren, Tom": 1})
    with django_assert_num_queries(1):
        assert outline_now(file) is first


@pytest.mark.django_db(transaction=True)
def test_a_change_is_seen_at_once(alice: User) -> None:
    file = file_with(alice, "She kept the lantern.")
    before = outline_now(file)
    add(file, "The bakery burned.", "It was rebuilt.")
    after = outline_now(file)
    assert (before.memories, after.memories) == (1, 3)
    assert [one.bullets for one in after.blocks] == [1, 2]
    assert after.sources == {("written", None): 3}


@pytest.mark.django_db(transaction=True)
def test_what_was_taken_back_is_not_remembered(alice: User) -> None:
    file = file_with(alice, "She kept the lantern.")
    with pytest.raises(Refused), transaction.atomic():
        add(file, "Never happened.", "Neither did this.")
        assert outline_of(file).memories == 3
        raise Refused
    assert outline_now(file).memories == 1
    again = MemoryFile.objects.for_user(alice).get(pk=file.pk)
    add(again, "This did.")
    assert outline_now(file).memories == 2


@pytest.mark.django_db
def test_two_files_are_told_apart(alice: User, bob: User) -> None:
    hers, his = file_with(alice, "She kept the lantern."), file_with(bob, "One.", "Two.")
    assert (outline_now(hers).memories, outline_now(his).memories) == (1, 2)


def test_the_address_of_a_row_is_that_of_its_page() -> None:
    draft, memory = uuid4(), uuid4()
    made = Template("{% load memories %}{% row_url 'memories:draft_edit_memory' draft memory %}")
    for one in (memory, uuid4()):
        shown = made.render(Context({"draft": draft, "memory": one}))
        assert shown == reverse("memories:draft_edit_memory", args=[draft, one])
