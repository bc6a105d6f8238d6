"""What calls were about, in words: apps above register how they name a kind of subject.

A subject is a path such as "character:<id>/chat:<id>". Its first part is its head, which sums are shown by; a head
that only says where something lies, such as "chat:<id>", names the head that it belongs under.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import Q
from django.utils.translation import gettext as _

from accounts.models import User


@dataclass(frozen=True)
class Named:
    """A head in words: its page ("" for none), and the head under which its sums belong ("" for its own)."""

    label: str
    url: str = ""
    under: str = ""


NamesOf = Callable[[User, Sequence[str]], Mapping[str, Named]]
BelowOf = Callable[[User, str], Iterable[str]]
_names: dict[str, NamesOf] = {}
_below: dict[str, BelowOf] = {}


def register(kind: str, names: NamesOf, below: BelowOf | None = None) -> None:
    """Name heads "kind:<id>": `names` gets a person and ids and answers for those that are theirs and still there;
    `below` gives the other heads whose sums belong under this one."""
    _names[kind] = names
    if below is not None:
        _below[kind] = below


def head_of(subject: str) -> str:
    """The first part of a subject."""
    return subject.partition("/")[0]


def names_of(user: User, heads: Iterable[str]) -> dict[str, Named]:
    """Each head in words, the ones that they lie under too; something for all of them, also for what is gone."""
    found: dict[str, Named] = {}
    waiting = set(heads)
    while waiting:
        found |= _look_up(user, waiting)
        waiting = {one.under for one in found.values() if one.under} - found.keys()
    return found


def calls_about(user: User, head: str) -> Q:
    """Which ledger rows are about this head, whatever they were written under."""
    kind, _colon, key = head.partition(":")
    others = _below[kind](user, key) if kind in _below else ()
    where = Q(subject__startswith=f"{head}/")
    return where | Q(subject__in=[head, *others])


def _look_up(user: User, heads: Iterable[str]) -> dict[str, Named]:
    kinds: dict[str, dict[str, str]] = {}  # kind → {head: key}
    for head in heads:
        kind, _colon, key = head.partition(":")
        kinds.setdefault(kind, {})[head] = key
    found: dict[str, Named] = {}
    for kind, keys in kinds.items():
        known = _names[kind](user, list(keys.values())) if kind in _names else {}
        missing = Named(_("gone since") if kind in _names else _("other work"))
        for head, key in keys.items():
            named = known.get(key, missing)
            found[head] = replace(named, under="") if named.under == head else named
    return found
