"""A person who plays in SillyTavern: characters and groups made through its own API, messages, branches, edits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tests.support.fake_model import FakeModel
from tests.support.tab import Tab

MAKE_CHARACTER = """async (fields) => { const c = SillyTavern.getContext(), form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  const headers = c.getRequestHeaders({omitContentType: true});
  const answer = await fetch('/api/characters/create', {method: 'POST', headers, body: form});
  if (!answer.ok) throw new Error(`characters/create: ${answer.status}`);
  return answer.text(); }"""
MAKE_GROUP = """async (fields) => { const headers = SillyTavern.getContext().getRequestHeaders();
  const answer = await fetch('/api/groups/create', {method: 'POST', headers, body: JSON.stringify(fields)});
  if (!answer.ok) throw new Error(`groups/create: ${answer.status}`);
  return (await answer.json()).id; }"""
COUNT = "() => SillyTavern.getContext().chat.length"
IS_DONE = "(n) => SillyTavern.getContext().chat.length >= n && !document.body.dataset.generating"
IS_SWIPED = "(t) => SillyTavern.getContext().chat.at(-1).mes === t && !document.body.dataset.generating"
EDIT = """async ([number, text]) => { const message = document.querySelector(`.mes[mesid="${number}"]`);
  message.querySelector('.mes_edit').click();
  while (!message.querySelector('.edit_textarea')) await new Promise(r => setTimeout(r, 20));
  message.querySelector('.edit_textarea').value = text;
  message.querySelector('.mes_edit_done').click(); }"""
IN_TURN = 1  # every member of a group answers, in the order of the list
WHO_ANSWERS = re.compile(r"Write the next reply only as (?P<name>[^.\]]+)")


def make_character(tab: Tab, name: str) -> str:
    """A card with a greeting; its avatar."""
    fields = {"ch_name": name, "description": f"{name} keeps a lighthouse.", "first_mes": f"{name} nods."}
    return str(tab.js(MAKE_CHARACTER, fields))


def make_group(tab: Tab, name: str, avatars: Sequence[str]) -> str:
    """A group in which each message is answered by every member; its id. It shows after the page was loaded anew."""
    chat = name.lower()
    fields = {"name": name, "members": list(avatars), "chat_id": chat, "chats": [chat], "disabled_members": []}
    usual = {"avatar_url": "", "allow_self_responses": False, "generation_mode": 0, "fav": False}
    return str(tab.js(MAKE_GROUP, {**fields, **usual, "activation_strategy": IN_TURN}))


def say(tab: Tab, model: FakeModel, text: str, answer: str, answers: int = 1) -> None:
    """Send a message that is answered with `answer`; "{name}" in it is the member of the group that speaks."""

    def spoken(prompt: str) -> str:
        found = WHO_ANSWERS.search(prompt)
        return answer.format(name=found["name"] if found else "")

    model.rule = spoken
    before = tab.js(COUNT)
    tab.send(text)
    tab.page.wait_for_function(IS_DONE, arg=before + 1 + answers, timeout=60_000)


def edit(tab: Tab, number: int, text: str) -> None:
    """Write another text over a message, with the pencil."""
    tab.js(EDIT, [number, text])
    tab.page.wait_for_function("([n, t]) => SillyTavern.getContext().chat[n].mes === t", arg=[number, text])


def swipe(tab: Tab, model: FakeModel, answer: str) -> None:
    """Have the last message answered anew, with the arrow beside it, which every version has."""
    model.rule = lambda _prompt: answer
    tab.js("() => document.querySelector('.last_mes .swipe_right').click()")
    tab.page.wait_for_function(IS_SWIPED, arg=answer, timeout=60_000)


def names(tab: Tab) -> list[Any]:
    """Who said what stands in the open chat."""
    return list(tab.js("() => SillyTavern.getContext().chat.map(one => one.name)"))
