"""What a provider's list of models says of them: price, how much they take at once, name, kind. Pure.

Read are the forms that providers publish: OpenRouter ("pricing": {"prompt", "completion", "input_cache_read"}, dollars
for one token as text), NanoGPT (the same names with "unit": "per_million_tokens"), Together ("pricing": {"input",
"output"}, dollars for a million), DeepInfra ("metadata": {"pricing": {"input_tokens", …}}, dollars for a million).
Anything that cannot be read with certainty has no price: a wrong one would be worse than none.

Who made a model ("provider", or "owned_by" where NanoGPT's detailed list tells prices) and what it is (FLAGS) are read
where the list tells them, in the words of NanoGPT; OpenRouter names reasoning among "supported_parameters".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import Any

MILLION = Decimal(1_000_000)
DEAREST = Decimal(10_000)  # dollars a million tokens; more is a misreading of the unit
CENT_OF_A_CENT = Decimal("0.000001")
CONTEXTS = ("context_length", "context_window", "max_context_length", "max_model_len", "inputTokenLimit", "context")
LARGEST_CONTEXT = 1_000_000_000
NAMES = ("displayName", "display_name", "name")
LONGEST_NAME = 120
FLAGS = ("subscription", "open", "roleplay", "reasoning")


@dataclass(frozen=True)
class Listed:
    """One model of a list: its id, and where the list names them dollars a million tokens, the context window, what
    people call it, who made it, and some of FLAGS. `server` is what a local server calls itself; it is not kept."""

    id: str
    input: Decimal | None = None
    output: Decimal | None = None
    cached: Decimal | None = None
    context: int | None = None
    name: str = ""
    upstream: str = ""
    flags: tuple[str, ...] = ()
    server: str = field(default="", compare=False)

    @property
    def is_free(self) -> bool:
        """The list names a price, and it is nothing."""
        return self.input == 0 == self.output

    def also(self, flag: str) -> Listed:
        """The same with one more of FLAGS."""
        return replace(self, flags=tuple(one for one in FLAGS if one in {*self.flags, flag}))

    def stored(self) -> str | dict[str, Any]:
        """What ModelListing keeps: the bare id, or {"id"} with "in" and "out", perhaps "cached", and what else the
        list told."""
        found: dict[str, Any] = {"id": self.id}
        if self.input is not None and self.output is not None:
            found |= {"in": str(self.input), "out": str(self.output)}
            found |= {} if self.cached is None else {"cached": str(self.cached)}
        if self.context is not None:
            found["context"] = self.context
        told = {"name": self.name, "upstream": self.upstream, "flags": list(self.flags)}
        found |= {field: value for field, value in told.items() if value}
        return found if len(found) > 1 else self.id


def from_stored(row: Any) -> Listed:
    """The opposite of `Listed.stored`."""
    if not isinstance(row, dict):
        return Listed(str(row))
    paid, made, cached = (_amount(row.get(name), Decimal(1)) for name in ("in", "out", "cached"))
    name, upstream = (_text(row.get(field)) for field in ("name", "upstream"))
    kept = row.get("flags")
    flags = tuple(flag for flag in FLAGS if isinstance(kept, list) and flag in kept)
    return Listed(str(row.get("id", "")), paid, made, cached, _context(row), name, upstream, flags)


def read_row(name: str, row: Any) -> Listed:
    """One row of a provider's list."""
    pricing = _pricing(row)
    bare = _told(name, row, pricing)
    for input_name, output_name, cached_name, factor in _forms(pricing):
        names = (input_name, output_name, cached_name)
        paid, made, cached = (_amount(pricing.get(field), factor) for field in names)
        if paid is not None and made is not None:
            return replace(bare, input=paid, output=made, cached=cached)
    return bare


def _told(name: str, row: Any, pricing: Mapping[str, Any]) -> Listed:
    """The model without its price."""
    if not isinstance(row, dict):
        return Listed(name)
    called = next((text for text in (_text(row.get(field)) for field in NAMES) if text), "")
    called = "" if called.removeprefix("models/") == name else called
    owner = _text(row.get("owned_by"))
    upstream = _text(row.get("provider")) or (owner if "unit" in pricing else "")
    return Listed(name, context=_context(row), name=called, upstream=upstream, flags=_flags(row), server=owner)


def _flags(row: Mapping[str, Any]) -> tuple[str, ...]:
    subscription = row.get("subscription")
    included = subscription.get("included") if isinstance(subscription, dict) else subscription
    told = {
        "subscription": included is True,
        "open": row.get("isOpenSource") is True,
        "roleplay": _text(row.get("category")).lower().startswith("roleplay"),
        "reasoning": _has(row.get("capabilities"), "reasoning") or _has(row.get("supported_parameters"), "reasoning"),
    }
    return tuple(flag for flag in FLAGS if told[flag])


def _has(value: Any, word: str) -> bool:
    """A list that holds the word, or an object in which it is true."""
    return value.get(word) is True if isinstance(value, dict) else isinstance(value, list) and word in value


def _text(value: Any) -> str:
    """One short line; nothing for what is no text."""
    line = " ".join(value[: LONGEST_NAME * 4].split()) if isinstance(value, str) else ""
    return "".join(letter for letter in line if letter.isprintable())[:LONGEST_NAME]


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
