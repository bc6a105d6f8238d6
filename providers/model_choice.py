"""What the page shows on which a model is chosen from the kept list: searched, filtered, grouped by who made it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from providers import queries
from providers.catalogue import Preset
from providers.listed_prices import Listed, from_stored
from providers.model_advice import advice_for
from providers.models import Connection
from providers.through import REACH

MOST_SHOWN = 2000
LONGEST_SEARCH = 200
FREE = "free"
# Filter → what stands on its chip; the badge of a row says the same.
FILTERS: dict[str, str | Promise] = {
    "subscription": gettext_lazy("In the subscription"),
    "open": gettext_lazy("Open source"),
    "roleplay": gettext_lazy("Roleplay"),
    "reasoning": gettext_lazy("Reasoning"),
    FREE: gettext_lazy("Free"),
}


@dataclass(frozen=True)
class Wish:
    """What somebody looks for: words in any order, and filters that must all hold."""

    text: str = ""
    only: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Row:
    """One model. `price` tells that the list names one."""

    model: Listed
    is_chosen: bool
    badges: list[str]
    advice: str
    is_good: bool
    has_price: bool


@dataclass(frozen=True)
class Group:
    title: str
    rows: list[Row]


@dataclass(frozen=True)
class Chip:
    name: str
    label: str
    is_on: bool


@dataclass(frozen=True)
class ChoicePage:
    """`all` models are listed, `found` fit the wish, and at most MOST_SHOWN of them stand in `groups`."""

    lists_models: bool
    wish: Wish
    all: int = 0
    found: int = 0
    fetched_at: datetime | None = None
    chips: list[Chip] = field(default_factory=list)
    lately: list[Row] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    is_priced: bool = False
    has_typed_price: bool = False
    takes_others: bool = True  # a model that is not listed may be named

    @property
    def is_cut(self) -> bool:
        return self.found > MOST_SHOWN


def read_wish(query: QueryDict) -> Wish:
    """The wish that stands in an address; what is no filter is no wish."""
    return Wish(query.get("q", "")[:LONGEST_SEARCH].strip(), frozenset(query.getlist("only")) & FILTERS.keys())


def choice_page(connection: Connection, preset: Preset, wish: Wish) -> ChoicePage:
    """Two queries, however long the list is."""
    kept = queries.kept_list(connection)
    models = [from_stored(row) for row in kept.models_json] if kept else []
    told = {flag for model in models for flag in _kinds(model)}
    wish = Wish(wish.text, wish.only & told)
    found = [model for model in models if _fits(model, wish)]
    known = {model.id: model for model in models}
    names = queries.lately_used(connection)
    if preset.reach == REACH:  # what answered there is no name of a choice
        names = [name for name in names if name in known]
    lately = [known.get(name) or Listed(name) for name in names]
    return ChoicePage(
        lists_models=preset.lists_models,
        wish=wish,
        all=len(models),
        found=len(found),
        fetched_at=kept.fetched_at if kept else None,
        chips=[Chip(name, str(label), name in wish.only) for name, label in FILTERS.items() if name in told],
        lately=[_row(model, connection) for model in lately if _fits(model, wish)],
        groups=_groups(found[:MOST_SHOWN], connection, by_maker=preset.groups_models),
        is_priced=any(model.input is not None for model in models),
        has_typed_price=connection.price_in is not None or connection.price_out is not None,
        takes_others=preset.reach != REACH,
    )


def _kinds(model: Listed) -> tuple[str, ...]:
    return (*model.flags, FREE) if model.is_free else model.flags


def _fits(model: Listed, wish: Wish) -> bool:
    text = f"{model.id} {model.name} {model.upstream}".casefold()
    return wish.only <= {*_kinds(model)} and all(word in text for word in wish.text.casefold().split())


def _row(model: Listed, connection: Connection) -> Row:
    advice = advice_for(model.id, model.name)
    return Row(
        model=model,
        is_chosen=model.id == connection.model,
        badges=[str(FILTERS[kind]) for kind in _kinds(model)],
        advice=_(advice.text) if advice else "",
        is_good=bool(advice and advice.is_good),
        has_price=model.input is not None and model.output is not None,
    )


def _groups(models: Sequence[Listed], connection: Connection, *, by_maker: bool) -> list[Group]:
    """By maker and then by name; as the server listed them where all are its own."""
    if not by_maker:
        return [Group("", [_row(model, connection) for model in models])] if models else []
    makers: dict[str, list[Listed]] = {}
    for model in models:
        makers.setdefault(_maker(model).casefold(), []).append(model)
    found = []
    for maker in sorted(makers, key=lambda name: (not name, name)):
        rows = sorted(makers[maker], key=lambda model: (model.name or model.id).casefold())
        found.append(Group(_maker(rows[0]) or _("Others"), [_row(model, connection) for model in rows]))
    return found


def _maker(model: Listed) -> str:
    """Who made a model: as the list says, else the first part of "vendor/model"."""
    before, slash, _rest = model.id.partition("/")
    return model.upstream or (before.strip() if slash else "")
