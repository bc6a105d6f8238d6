"""Branches, groups and changed messages of a real SillyTavern, read by a `serve` that nobody looks at."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.support.fake_model import FakeModel
from tests.support.playing import edit, make_character, make_group, names, say, swipe
from tests.support.processes import Running, python, rows
from tests.support.services import require
from tests.support.tab import Tab
from tests.support.tavern import RunningTavern
from tests.support.waiting import wait_until
from tests.tavern.test_reaches_the_prompt import last_prompt
from tests.tavern.test_whole_house import PASSWORD, link, start_serve, wait_for_messages

pytestmark = [pytest.mark.tavern, pytest.mark.browser]
TEN = ("Orla", "Pim", "Sefa", "Tamsin", "Ulf", "Vesna", "Wido", "Xenia", "Yorick", "Zelda")
IS_OPEN = """name => SillyTavern.getContext().chatId === name
  && document.querySelectorAll('#chat .mes').length === SillyTavern.getContext().chat.length"""
OPEN_CHAT = "name => SillyTavern.getContext().openCharacterChat(name)"
GROUPS = {"The ten keepers": TEN, "The five keepers": TEN[:5], "The three keepers": TEN[5:8]}
# After how many messages of characters each is read by itself; greetings count with them. The rest is as it comes.
CHOICES = {
    "Brin": {"interval": 4},
    "Nell": {"interval": 5},
    "The ten keepers": {"interval": 20, "messages_per_call": 30},
    "The five keepers": {"interval": 10},
    "The three keepers": {"interval": 16},
}
CHOOSE = """
import json, sys
import django; django.setup()
from accounts.models import User
from memories import choosing
from sync.models import Character, Group
alice = User.objects.get()
for name, choices in json.loads(sys.argv[1]).items():
    rows = [*Character.objects.for_user(alice).filter(name=name), *Group.objects.for_user(alice).filter(name=name)]
    choosing.set_own(alice, rows[0], choices, among=list(choices))
"""
BRANCHES = """
import sys
import django; django.setup()
from accounts.models import User
from memories import scope_change
from sync.models import Character
alice = User.objects.get()
scope_change.choose(alice, Character.objects.for_user(alice).get(name=sys.argv[1]), "all", "branches")
"""
COMPANION = """
import sys
import django; django.setup()
from accounts.models import User
from companion import install
from sync.models import Tavern
tavern = Tavern.objects.for_user(User.objects.get()).get()
install.install(tavern, f"{sys.argv[1]}/companion/api/{tavern.pk}/", replace=True)
"""
ACTIVE = "SELECT count(*) FROM jobs_job WHERE state IN ('queued', 'running', 'paused')"
MEMORIES_OF = """FROM memories_memory m JOIN memories_memoryblock b ON b.id = m.block_id
 JOIN memories_memoryfile f ON f.id = b.file_id JOIN sync_character c ON c.id = f.character_id"""
KEY = re.compile(r"\w+ (?:hid|sold|threw|swallowed) the \w+ key [^.\n]+\.")
SHOWN = re.compile(r"\] (?:NEW MESSAGES|NEW GROUP MESSAGES).*?\n(?P<text>.*)\n\[\w+\] END OF NEW", re.DOTALL)
KNOWN = re.compile(r"\] KNOWN MEMORIES.*?\n(?P<text>.*)\n\[\w+\] END OF KNOWN", re.DOTALL)
ASKED = re.compile(r"rite down what (?P<name>\w+)(?:, and only | should still)")


@dataclass
class Prompt:
    """What the model that reads was shown: for whom, which messages, and what it was told to be known."""

    name: str
    shown: str
    known: str

    @classmethod
    def of(cls, text: str) -> Prompt:
        name, shown, known = ASKED.search(text), SHOWN.search(text), KNOWN.search(text)
        assert name and shown and known, text
        return cls(name["name"], shown["text"], known["text"])


def remembers(text: str) -> str:
    """What a model answers that finds each key worth remembering which its character had, and nothing else."""
    prompt = Prompt.of(text)
    found = [one for one in dict.fromkeys(KEY.findall(prompt.shown)) if one.startswith(prompt.name)][:5]
    lines = [f"- [{prompt.name}, Ren — hidden keys]", *(f"- {one}" for one in found)]
    return "\n".join(["<memory>", *lines, "</memory>"]) if found else "NO_NEW_MEMORIES"


class Lighthouse:
    """One SillyTavern, one tab in it, one `serve` that reads it, and the models of both."""

    def __init__(self, house: Running, tavern: RunningTavern, tab: Tab, model: FakeModel, reader: FakeModel) -> None:
        self.house, self.tavern, self.tab, self.model, self.reader = house, tavern, tab, model, reader

    def say(self, text: str, answer: str, answers: int = 1) -> None:
        say(self.tab, self.model, text, answer, answers)

    def select(self, query: str) -> list[tuple[object, ...]]:
        return rows(self.house, query)

    def facts(self, name: str) -> dict[str, bool]:
        """What a character remembers, and whether its source changed."""
        query = f"SELECT m.text, m.is_source_changed {MEMORIES_OF} WHERE c.name = '{name}' AND NOT m.is_topic"
        return {str(text): bool(is_changed) for text, is_changed in self.select(query)}

    def keys_in_data_bank(self, name: str) -> set[str]:
        """The keys that the character's Data Bank file speaks of; none while SillyTavern knows of no file."""
        entries = self.tavern.registered(f"{name}.png")
        texts = [(self.tavern.user_folder / one["url"].lstrip("/")).read_text("utf-8") for one in entries]
        return keys_in("\n".join(texts))

    def prompts(self, name: str = "", canary: str = "") -> list[Prompt]:
        found = [Prompt.of(text) for text in self.reader.prompts()]
        return [one for one in found if name in ("", one.name) and canary in one.shown]

    def wait_for(self, question: Callable[[], object], seconds: float = 60) -> None:
        """Until it is so and nothing is left to do, without a byte of any chat changing meanwhile.

        What was decided and printed is shown when it never is so.
        """
        wait_for_messages(self.house, self.tab)
        before = self.tavern.fingerprint("chats", "group chats")
        try:
            wait_until(lambda: question() and not self.select(ACTIVE)[0][0], seconds, every=0.3)
        except AssertionError as error:
            jobs = self.select("SELECT kind, label, state, error FROM jobs_job WHERE kind LIKE 'extract%'")
            said = self.select("SELECT verdict, facts FROM memories_chatactivity WHERE verdict != ''")
            raise AssertionError(f"{jobs}\n{said}\n{self.house.printed()[-3000:]}") from error
        assert self.tavern.fingerprint("chats", "group chats") == before

    def page(self, path: str) -> Page:
        """A page of CharMem in a tab of its own; alice is signed in."""
        page = self.tab.context.new_page()
        page.goto(f"http://127.0.0.1:{self.house.port}{path}")
        if "/login/" in page.url:
            page.fill("input[name=username]", "alice")
            page.fill("input[name=password]", PASSWORD)
            page.press("input[name=password]", "Enter")
            page.wait_for_url(lambda url: "/login/" not in url)
            page.goto(f"http://127.0.0.1:{self.house.port}{path}")
        return page


@pytest.fixture(scope="module")
def place(
    tavern: RunningTavern, tavern_model: FakeModel, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lighthouse]:
    require("browser")
    folder = tmp_path_factory.mktemp("lighthouse")
    house = Running(folder / "charmem")
    with FakeModel() as reader, sync_playwright() as playwright:
        reader.rule = remembers
        tab = Tab(playwright, tavern.url, folder / "profile")
        try:
            _settle_in(place := Lighthouse(house, tavern, tab, tavern_model, reader), folder / "password")
            yield place
        finally:
            tavern_model.rule = lambda _prompt: None
            tab.close()
            house.end()


def _settle_in(place: Lighthouse, password: Path) -> None:
    start_serve(place.house)
    place.tab.open()
    avatars = {name: make_character(place.tab, name) for name in (*TEN, "Brin", "Nell")}
    for name, members in GROUPS.items():
        make_group(place.tab, name, [avatars[one] for one in members])
    link(place.house, place.tavern, place.reader, password)
    python(place.house, COMPANION, f"http://127.0.0.1:{place.house.port}")
    place.tab.open()
    wait_until(lambda: place.select("SELECT count(*) FROM sync_tavern WHERE state = 'ok'")[0][0], 60, every=0.3)
    python(place.house, CHOOSE, json.dumps(CHOICES))


def test_a_branch_is_read_from_where_it_begins_also_when_it_was_renamed_unseen(place: Lighthouse) -> None:
    python(place.house, BRANCHES, "Brin")
    place.tab.select("Brin.png")
    parent_chat = place.tab.js("() => SillyTavern.getContext().getCurrentChatId()")
    for key, spot in (("amber", "loft"), ("copper", "well"), ("silver", "barn")):
        place.say(f"Where is the {key} one?", f"Brin hid the {key} key in the {spot}.")
    place.wait_for(lambda: len(place.facts("Brin")) == 3)
    place.house.end()
    place.tab.slash("/branch-create 4")
    place.tab.slash("/renamechat The other evening")
    place.tab.page.wait_for_function(IS_OPEN, arg="The other evening")
    for key, spot in (("iron", "mill"), ("jade", "chapel"), ("pearl", "boat"), ("rusty", "yard")):
        place.say(f"Where is the {key} one?", f"Brin hid the {key} key in the {spot}.")
    start_serve(place.house)
    place.wait_for(lambda: len(place.facts("Brin")) == 7)
    parent, branch = place.prompts("Brin")
    assert keys_in(parent.shown) == {"amber", "copper", "silver"} and keys_in(parent.known) == set()
    assert keys_in(branch.shown) == {"iron", "jade", "pearl", "rusty"} and "nods" not in branch.shown
    assert keys_in(branch.known) == {"amber", "copper"}, "what was remembered up to the fork, and nothing after it"
    of_branch = {"amber", "copper", "iron", "jade", "pearl", "rusty"}
    place.wait_for(lambda: place.keys_in_data_bank("Brin") == of_branch)
    place.say("And the bronze one?", "Brin shrugs.")
    sent = last_prompt(place.model)
    assert "<memory" in sent and "iron" in sent and "silver" not in sent, "its own line, not what the parent says later"
    place.tab.js(OPEN_CHAT, parent_chat)
    place.tab.page.wait_for_function(IS_OPEN, arg=parent_chat)
    place.wait_for(lambda: place.keys_in_data_bank("Brin") == {"amber", "copper", "silver"})


def test_ten_members_end_with_ten_files_in_ten_data_banks(place: Lighthouse) -> None:
    place.tab.slash("/go The ten keepers")
    place.say("Who watches tonight?", "{name} hid the bronze key under the stairs.", answers=10)
    assert names(place.tab) == [*TEN, "Ren", *TEN]
    wanted = {name: f"{name} hid the bronze key under the stairs." for name in TEN}
    place.wait_for(lambda: all(fact in place.facts(name) for name, fact in wanted.items()))
    assert Counter(one.name for one in place.prompts(canary="bronze")) == Counter(TEN)
    assert all("Who watches tonight?" in one.shown for one in place.prompts(canary="bronze"))
    place.say("And tomorrow?", "{name} sleeps.", answers=10)
    for name, fact in wanted.items():
        (entry,) = wait_until(partial(place.tavern.registered, f"{name}.png"))
        text = (place.tavern.user_folder / entry["url"].lstrip("/")).read_text("utf-8")
        assert entry["url"].startswith("/user/files/cm_") and fact in text
        assert not any(other in text for other in wanted.values() if other != fact)


def test_a_member_that_fails_twice_leaves_the_others_done_once_and_goes_on_alone(place: Lighthouse) -> None:
    def loses_the_third(prompt: str) -> str:
        asked = Prompt.of(prompt)
        return "What a lovely story." if asked.name == "Sefa" and "tin key" in asked.shown else remembers(prompt)

    place.reader.rule = loses_the_third
    place.tab.slash("/go The five keepers")
    place.say("Who has the key?", "{name} hid the tin key in the cellar.", answers=5)
    wanted = {name: f"{name} hid the tin key in the cellar." for name in TEN[:5]}
    failed = "SELECT id FROM jobs_job WHERE state = 'failed' AND NOT is_batch AND label LIKE 'Sefa %'"
    place.wait_for(lambda: place.select(failed))
    asked = len(place.prompts("Sefa", "tin key"))
    press_retry(place, failed)
    place.wait_for(lambda: len(place.prompts("Sefa", "tin key")) == 2 * asked and place.select(failed))
    assert [name for name, fact in wanted.items() if fact in place.facts(name)] == ["Orla", "Pim", "Tamsin", "Ulf"]
    place.reader.rule = remembers
    press_retry(place, failed)
    place.wait_for(lambda: wanted["Sefa"] in place.facts("Sefa"))
    counts = Counter(one.name for one in place.prompts(canary="tin key"))
    assert counts == {**dict.fromkeys(wanted, 1), "Sefa": 2 * asked + 1}
    for name in wanted:
        told = f"{MEMORIES_OF} WHERE c.name = '{name}' AND m.text = '{wanted[name]}'"
        assert place.select(f"SELECT count(*) {told}") == [(1,)]


def test_an_absent_members_prompt_lacks_what_it_missed(place: Lighthouse) -> None:
    place.tab.slash("/go The three keepers")
    place.tab.slash("/member-disable Xenia")
    for night in range(5):
        place.say(f"Night {night}: what do we do?", "{name} hid the zinc key in the chapel.", answers=2)
    place.tab.slash("/member-enable Xenia")
    place.say("Xenia, welcome back.", "{name} hid the glass key in the harbour.", answers=3)
    assert names(place.tab)[-3:] == list(TEN[5:8])
    place.wait_for(lambda: "Xenia hid the glass key in the harbour." in place.facts("Xenia"))
    assert place.prompts("Xenia") and not place.prompts("Xenia", "zinc")
    assert not place.prompts("Xenia", "Night 2") and place.prompts("Vesna", "Night 2")
    assert {one.name for one in place.prompts(canary="zinc")} == {"Vesna", "Wido"}
    assert {one.name for one in place.prompts(canary="glass")} == {"Vesna", "Wido", "Xenia"}


def test_what_was_swiped_edited_or_deleted_comes_into_the_review_queue(place: Lighthouse) -> None:
    place.tab.select("Nell.png")
    edited, deleted = "Nell threw the opal key into the harbour.", "Nell sold the ivory key to Bishop Aldous."
    kept, swiped = "Nell hid the coral key behind some organ pipes.", "Nell swallowed the ebony key at breakfast."
    for said in (edited, deleted, kept, swiped):
        place.say("And then?", said)
    place.wait_for(lambda: len(place.facts("Nell")) == 4)
    assert not any(place.facts("Nell").values())
    edit(place.tab, 2, "Nell lost it.")
    swipe(place.tab, place.model, "Nell never had one.")
    place.tab.slash("/cut 3-4")
    found = {edited: True, deleted: True, kept: False, swiped: True}
    place.wait_for(lambda: place.facts("Nell") == found)
    (nell,) = place.select("SELECT id FROM sync_character WHERE name = 'Nell'")[0]
    page = place.page(f"/characters/{UUID(str(nell))}/review/changed/")
    for text, is_changed in found.items():
        assert bool(page.get_by_text(text).count()) == is_changed, text
    page.close()


def press_retry(place: Lighthouse, query: str) -> None:
    """Open the page of the one job that `query` finds, and have it tried again."""
    ((job,),) = place.select(query)
    page = place.page(f"/jobs/{UUID(str(job))}/")
    with page.expect_response(lambda answer: answer.url.endswith("/retry")):
        page.get_by_role("button", name="Retry").click()
    page.close()


def keys_in(text: str) -> set[str]:
    """Which keys are spoken of as one of the answers does."""
    return {one.split()[3] for one in KEY.findall(text)}
