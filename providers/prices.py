"""What a token costs at a connection: the price typed there, else the one in the provider's list, else nothing for
free kinds, else unknown. Everything that shows, estimates or limits money asks here."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from accounts.ownership import unscoped
from providers import listed_prices
from providers.base import Usage
from providers.catalogue import PRESETS
from providers.listed_prices import MILLION, Listed
from providers.models import Connection, ModelListing

Source = Literal["typed", "list", "free"]
NOTHING = Decimal(0)


@dataclass(frozen=True)
class Price:
    """Dollars for a million tokens. All None, and no source, when nobody knows; `cached` None costs like `input`."""

    input: Decimal | None = None
    output: Decimal | None = None
    cached: Decimal | None = None
    source: Source | None = None

    @property
    def is_known(self) -> bool:
        return self.source is not None

    @property
    def is_free(self) -> bool:
        """Nothing is paid: money budgets never stop these calls."""
        return self.is_known and not self.input and not self.output

    def cost(self, tokens_in: Decimal | float, tokens_out: Decimal | float, cached: int = 0) -> Decimal | None:
        """Dollars for so many tokens, `cached` of those sent at their own price; None when the price is unknown."""
        if self.input is None or self.output is None:
            return None
        sent, answered = Decimal(str(tokens_in)), Decimal(str(tokens_out))
        known = min(Decimal(cached), sent)
        for_cached = self.input if self.cached is None else self.cached
        return ((sent - known) * self.input + known * for_cached + answered * self.output) / MILLION


UNKNOWN = Price()


def price_of(connection: Connection, model: str = "") -> Price:
    """The price of `model` (else of the connection's model) at this connection.

    Typed prices win. Where only one of the two was typed, the list or the kind of connection gives the other one.
    """
    typed_in, typed_out = connection.price_in, connection.price_out
    if typed_in is not None and typed_out is not None:
        return Price(Decimal(typed_in), Decimal(typed_out), None, "typed")
    found = _untyped(connection, model or connection.model)
    if not found.is_known or (typed_in is None and typed_out is None):
        return found
    input_price = found.input if typed_in is None else Decimal(typed_in)
    return Price(input_price, found.output if typed_out is None else Decimal(typed_out), None, "typed")


def cost_of(connection: Connection, usage: Usage, model: str = "") -> Decimal | None:
    """Money for these tokens; `model` is the one that answered, asked for when the chosen one has no price."""
    price = price_of(connection)
    if not price.is_known and model and model != connection.model:
        price = price_of(connection, model)
    return price.cost(usage.prompt_tokens or 0, usage.completion_tokens or 0, usage.cached_tokens or 0)


def _untyped(connection: Connection, model: str) -> Price:
    preset = PRESETS.get(connection.preset)
    if preset is not None and preset.is_free:
        return Price(NOTHING, NOTHING, NOTHING, "free")
    model = model or (preset.default_model if preset else "")
    listed = next((row for row in listing(connection) if row.id == model), None)
    if listed is None or listed.input is None or listed.output is None:
        return UNKNOWN
    return Price(listed.input, listed.output, listed.cached, "list")


def listing(connection: Connection) -> list[Listed]:
    """The kept list of a connection that the caller holds; empty when its server was never asked."""
    with unscoped("the list of a connection that the caller holds"):
        rows = ModelListing.objects.filter(connection=connection.pk).values_list("models_json", flat=True).first()
    return [listed_prices.from_stored(row) for row in rows or []]
