"""What a provider's list of models says that its models cost, and how much they take at once. Pure.

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
CONTEXTS = ("context_length", "context_window", "max_context_length", "max_model_len", "inputTokenLimit", "context")
LARGEST_CONTEXT = 1_000_000_000


@dataclass(frozen=True)
class Listed:
    """One model of a list: its id, and where the list names them dollars a million tokens and the context window."""

    id: str
    input: Decimal | None = None
    output: Decimal | None = None
    cached: Decimal | None = None
    context: int | None = None

    def stored(self) -> str | dict[str, str | int]:
        """What ModelListing keeps: the bare id, or {"id"} with "in" and "out", perhaps "cached", and "context"."""
        found: dict[str, str | int] = {"id": self.id}
        if self.input is not None and self.output is not None:
            found |= {"in": str(self.input), "out": str(self.output)}
            found |= {} if self.cached is None else {"cached": str(self.cached)}
        if self.context is not None:
            found["context"] = self.context
        return found if len(found) > 1 else self.id


def from_stored(row: Any) -> Listed:
    """The opposite of `Listed.stored`."""
    if not isinstance(row, dict):
        return Listed(str(row))
    paid, made, cached = (_amount(row.get(name), Decimal(1)) for name in ("in", "out", "cached"))
    return Listed(str(row.get("id", "")), paid, made, cached, _context(row))


def read_row(name: str, row: Any) -> Listed:
    """One row of a provider's list."""
    pricing, context = _pricing(row), _context(row)
    for input_name, output_name, cached_name, factor in _forms(pricing):
        names = (input_name, output_name, cached_name)
        paid, made, cached = (_amount(pricing.get(field), factor) for field in names)
        if paid is not None and made is not None:
            return Listed(name, paid, made, cached, context)
    return Listed(name, context=context)


def _context(row: Any) -> int | None:
    """Tokens that the model takes at once."""
    named = [row.get(name) for name in CONTEXTS] if isinstance(row, dict) else []
    sound = (n for n in named if isinstance(n, int) and not isinstance(n, bool) and 0 < n < LARGEST_CONTEXT)
    return next(sound, None)


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
