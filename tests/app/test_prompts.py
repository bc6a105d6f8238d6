"""A person's own prompts: what is in force, versions, changed defaults, strategies of one's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from memories import own_prompts, prompts
from memories.extraction import start_extraction
from memories.models import MemoryBlock, PromptOverride
from memories.own_prompts import text_in_force
from sync.models import Character
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.story import make_character, make_chat

TEXT = prompts.prompt_text("extraction").text


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


@pytest.fixture
def flux(alice: User, fake: FakeModel) -> Character:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    return make_character(alice)


def new_default(monkeypatch: pytest.MonkeyPatch, text: str, version: str = "9.9") -> None:
    """The program comes with another text for extraction."""
    prompts.prompt_text.cache_clear()
    fresh = prompts.PromptText("extraction", version, text)
    monkeypatch.setattr(own_prompts, "prompt_text", lambda name: fresh)


def test_a_characters_text_wins_over_the_persons_and_that_one_over_the_default(alice: User, bob: User) -> None:
    flux, other = make_character(alice), make_character(alice, "Orla")
    default = text_in_force(alice, "extraction", flux)
    assert (default.version, default.text, default.is_own) == ("extraction 1.0", TEXT, False)
    own_prompts.save_text(alice, "extraction", f"{TEXT}\nMine.")
    own_prompts.save_text(alice, "extraction", f"{TEXT}\nFor Flux.", flux)
    assert text_in_force(alice, "extraction", flux).text.endswith("For Flux.")
    assert text_in_force(alice, "extraction", flux).version == "yours 2"
    assert text_in_force(alice, "extraction", other).version == "yours 1"
    assert text_in_force(alice, "extraction").version == "yours 1"
    assert text_in_force(bob, "extraction").version == "extraction 1.0"


def test_the_default_is_the_absence_of_an_own_text(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    own_prompts.save_text(alice, "extraction", "Mine {{recentMessages}}")
    assert own_prompts.use_default(alice, "extraction")
    assert not own_prompts.use_default(alice, "extraction")
    new_default(monkeypatch, "Better.")
    found = text_in_force(alice, "extraction")
    assert (found.text, found.version) == ("Better.", "extraction 9.9")
    assert [row.text for row in own_prompts.versions(alice, "extraction")] == ["Mine {{recentMessages}}"]


def test_every_version_can_be_put_back_in_force(alice: User) -> None:
    first = own_prompts.save_text(alice, "extraction", "One.")
    own_prompts.save_text(alice, "extraction", "Two.")
    assert own_prompts.save_text(alice, "extraction", "Two.\r\n").number == 2  # the same words are no version
    own_prompts.activate(alice, first)
    assert text_in_force(alice, "extraction").version == "yours 1"
    assert own_prompts.save_text(alice, "extraction", "Three.").number == 3
    assert PromptOverride.objects.for_user(alice).filter(is_active=True).count() == 1


def test_a_changed_default_is_noticed_until_it_is_decided(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = own_prompts.save_text(alice, "extraction", "Mine.")
    assert not own_prompts.has_changed_default(mine)
    new_default(monkeypatch, "Better.")
    assert own_prompts.has_changed_default(mine)
    # Another version written without a look at the new default leaves the question open.
    later = own_prompts.save_text(alice, "extraction", "Mine, longer.")
    assert own_prompts.has_changed_default(later)
    own_prompts.keep_mine(alice, later)
    later.refresh_from_db()
    assert not own_prompts.has_changed_default(later)
    new_default(monkeypatch, "Best.", "10.0")
    assert own_prompts.has_changed_default(later)
    merged = own_prompts.save_text(alice, "extraction", "Both.", is_merged=True)
    assert not own_prompts.has_changed_default(merged)
    assert merged.base_text == "Best."


def test_strategies_are_made_renamed_and_deleted(alice: User, bob: User) -> None:
    made = own_prompts.create_strategy(alice, "  Only   feelings ", "Keep feelings. {{memories}}")
    assert [one.title for one in own_prompts.strategies(alice)] == ["Only feelings"]
    assert own_prompts.strategies(bob) == []
    own_prompts.rename_strategy(alice, made.name, "Feelings")
    assert own_prompts.save_text(alice, made.name, "Keep all feelings.").title == "Feelings"
    assert text_in_force(alice, made.name).version == "yours 2"
    with pytest.raises(ValueError, match="already"):
        own_prompts.create_strategy(alice, "feelings", "x")
    with pytest.raises(ValueError, match="no default"):
        own_prompts.use_default(alice, made.name)
    own_prompts.delete_strategy(alice, made.name)
    assert own_prompts.strategies(alice) == []
    with pytest.raises(own_prompts.NoSuchPrompt):
        text_in_force(alice, made.name)
    own_prompts.bring_back(alice, made.name)
    assert text_in_force(alice, made.name).text == "Keep all feelings."
    with pytest.raises(own_prompts.NoSuchPrompt):
        text_in_force(bob, made.name)
    with pytest.raises(ValueError, match="comes with"):
        own_prompts.delete_strategy(alice, "extraction")


def test_extraction_uses_the_own_text_and_blocks_say_so(alice: User, flux: Character, fake: FakeModel) -> None:
    make_chat(flux, lines=[{"text": "Alex adopted Flux in Harrow.", "raw_date": "d1", "role": "user"}])
    own_prompts.save_text(alice, "extraction", f"{TEXT}\nNever mention cheese.", flux)
    start_extraction(alice, character=flux)
    run_until_idle(alice)
    assert "Never mention cheese." in fake.prompts()[0]
    assert {block.prompt_version for block in MemoryBlock.objects.for_user(alice)} == {"yours 1"}
