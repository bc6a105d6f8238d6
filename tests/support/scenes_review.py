"""What waits in the review queues of an invented life, a memory of many rounds, and a forgotten chat."""

from __future__ import annotations

from typing import Any

from accounts.models import User
from memories import ancestors, forgetting, memory_file, review
from memories.memory_file import NewMemory
from memories.models import Memory, MemoryFile
from memories.pairs import DUPLICATE, MEANING, Pair
from sync.models import Character, Chat
from tests.support.builders import make_chat

PAIRS = [
    ("Seraphine sleeps in the warden’s cell above the stacks.", "Seraphine moved into the lamp room on the quay."),
    ("Seraphine lives with the wardens on Ostra.", "Seraphine left her room on Ostra and moved to the coast."),
    ("Seraphine promised Wren to open the sealed index.", "Seraphine broke her promise about the sealed index."),
    ("Only wardens may carry the brass lantern lit.", "Only wardens may carry the brass lantern, lit."),
    ("Wren paid the ferryman twice for one crossing.", "For one crossing Wren paid the ferryman twice."),
    ("Wren is afraid of the drowned stairs.", "Steps that lie under water frighten Wren."),
]


def add_reviews(alice: User, character: Character, chat: Chat) -> dict[str, Any]:
    """Two homes, a broken promise, two duplicates, a strange name, an edited message; three bullets in one of two
    rounds; a chat that she had forgotten."""
    file = memory_file.file_for(character)
    source = chat.messages.get(index=12)
    item = {"identity": source.identity, "index": 12, "quote": source.text[:40], "content": source.content}
    changed = {**item, "content": "another"}
    with memory_file.change(file, reason="Extracted", author=alice) as editor:
        first = [NewMemory(one, evidence=[item]) for one, _later in PAIRS]
        later = [NewMemory(one, evidence=[item]) for _first, one in PAIRS]
        odd = [
            NewMemory("Orsolya taught Seraphine to read tides.", unverified_names=["Orsolya"], is_unverified=True),
            NewMemory("The lantern was left on the ninth step.", evidence=[changed]),
        ]
        place: dict[str, Any] = {"origin": "extracted", "chat": chat, "first_index": 10, "last_index": 20}
        editor.add_block("Third descent", first, date="2026-01-04 20:00", **place)
        editor.add_block("Fourth descent", [*later, *odd], date="2026-03-04 20:00", **place)
    merged = _rounds(alice, file, chat, item)
    review.compare(file)
    _meant_the_same(file)
    gone = make_chat(character, 12, name="What was not meant to be kept")
    forgetting.forget(alice, gone)
    quoting = Memory.objects.for_user(alice).filter(block__file=file, text=PAIRS[0][0]).first()
    return {"merged": merged, "forgotten": gone, "quoting": quoting}


def _meant_the_same(file: MemoryFile) -> None:
    """The last two, as vectors would find them."""
    rows = Memory.objects.for_user(file.owner).filter(block__file=file, text__in=PAIRS[-1])
    texts = {text: str(pk) for pk, text in rows.values_list("pk", "text")}
    older, newer = (texts[one] for one in PAIRS[-1])
    review.add(file, [Pair(DUPLICATE, older, newer, 0.97, MEANING)], {pk: text for text, pk in texts.items()})


def paths(scene: dict[str, Any]) -> dict[str, str]:
    """The pages of these rows, by the names of their pictures."""
    queue = f"/characters/{scene['character'].pk}/review"
    kinds = ("unverified", "duplicates", "changed", "superseded")
    return {
        **{f"review-{kind}": f"{queue}/{kind}/" for kind in kinds},
        "review-empty": f"/characters/{scene['empty'].pk}/review/duplicates/",
        "evidence-rounds": f"/memories/{scene['merged'].pk}/",
        "sources": f"/memories/{scene['merged'].pk}/sources/",
        "quoted": f"/chats/{scene['chat'].pk}/?at=12&mark={scene['quoting'].pk}#m12",
        "forget": f"/chats/{scene['chat'].pk}/forget/",
        "forgotten": f"/chats/{scene['forgotten'].pk}/",
    }


def _rounds(alice: User, file: MemoryFile, chat: Chat, item: dict[str, Any]) -> Memory:
    texts = [
        "Seraphine counts steps aloud.",
        "Seraphine counts to two hundred and nine.",
        "She counts under her breath.",
    ]
    old = _written(alice, file, [NewMemory(text, evidence=[item]) for text in texts], "extracted", chat)
    ancestors.keep(file, old)
    once = _written(alice, file, [NewMemory("Counts her steps.", parents=[str(one.pk) for one in old])], "consolidated")
    ancestors.keep(file, once)
    last = _written(alice, file, [NewMemory("Counts every step.", parents=[str(once[0].pk)])], "consolidated")
    with memory_file.change(file, reason="Consolidated", author=alice) as editor:
        for row in (*old, *once):
            editor.delete_memory(row.pk)
    return last[0]


def _written(
    alice: User, file: MemoryFile, new: list[NewMemory], origin: str, chat: Chat | None = None
) -> list[Memory]:
    with memory_file.change(file, reason="Written", author=alice) as editor:
        block = editor.add_block("Steps", new, origin=origin, chat=chat, date="2026-03-05 10:00")
    related = ("block__file", "block__chat", "block__call")
    return list(Memory.objects.for_user(alice).filter(block=block).select_related(*related).order_by("order"))
