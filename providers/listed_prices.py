"""What a provider's list of models says that its models cost. Pure.

Read are the forms that providers publish: OpenRouter ("pricing": {"prompt", "completion", "input_cache_read"}, dollars
for one token as text), NanoGPT (the same names with "unit": "per_million_tokens"), Together ("pricing": {"input",
"output"}, dollars for a million), DeepInfra ("metadata": {"pricing": {"input_tokens", …}}, dollars for a million).
Anything that cannot be read with certainty has no price: a wrong one would be worse than none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

MILLION = Decimal(1_000_000)
DEAREST = Decimal(10_000)  # dollars a million tokens; more is a misreading of the unit
CENT_OF_A_CENT = Decimal("0.000001")


@dataclass(frozen=True)
class Listed:
    """One model of a list: its id, and dollars a million tokens where the list names them."""

    id: str
    input: Decimal | None = None
    output: Decimal | None = None
    cached: Decimal | None = None

    def stored(self) -> str | dict[str, str]:
        """What ModelListing keeps: the bare id, or {"id", "in", "out"} and perhaps "cached"."""
        if self.input is None or self.output is None:
            return self.id
        found = {"id": self.id, "in": str(self.input), "out": str(self.output)}
        return found if self.cached is None else {**found, "cached": str(self.cached)}


def from_stored(row: Any) -> Listed:
    """The opposite of `Listed.stored`."""
    if not isinstance(row, dict):
        return Listed(str(row))
    return Listed(str(row.get("id", "")), *(_amount(row.get(name), Decimal(1)) for name in ("in", "out", "cached")))


def read_row(name: str, row: Any) -> Listed:
    """One row of a provider's list."""
    pricing = _pricing(row)
    for input_name, output_name, cached_name, factor in _forms(pricing):
        prices = [_amount(pricing.get(field), factor) for field in (input_name, output_name, cached_name)]
        if prices[0] is not None and prices[1] is not None:
            return Listed(name, *prices)
    return Listed(name)


def _forms(pricing: Mapping[str, Any]) -> list[tuple[str, str, str, Decimal]]:
    per_million = "million" in str(pricing.get("unit", "")).lower()
    return [
        ("prompt", "completion", "input_cache_read", Decimal(1) if per_million else MILLION),
        ("input", "output", "cached_input", Decimal(1)),
        ("input_tokens", "output_tokens", "cache_read_tokens", Decimal(1)),
    ]


def _pricing(row: Any) -> Mapping[str, Any]:
    if not isinstance(row, dict):
        return {}
    metadata = row.get("metadata")
    found = row.get("pricing") or (metadata.get("pricing") if isinstance(metadata, dict) else None)
    if not isinstance(found, dict) or str(found.get("currency", "USD")).upper() != "USD":
        return {}
    return found


def _amount(value: Any, factor: Decimal) -> Decimal | None:
    """Dollars a million tokens; None for what is no plain amount (OpenRouter's -1 means "it depends")."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        amount = Decimal(str(value)[:40]) * factor
    except InvalidOperation:
        return None
    if not amount.is_finite() or not 0 <= amount <= DEAREST:
        return None
    return amount.quantize(CENT_OF_A_CENT).normalize() + 0
