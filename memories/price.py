"""Estimates of what reading will cost (pure)."""

from __future__ import annotations

from decimal import Decimal

PROMPT_OVERHEAD_TOKENS = 1_400  # rules, card and known memories that go with every call
ANSWER_TOKENS = 220
CHECKING_ANSWER = 80  # tokens of the answer to the second question about new memories
MILLION = Decimal(1_000_000)


def reading_price(
    *, messages: int, letters: int, per_call: int, price_in: Decimal | None, price_out: Decimal | None
) -> Decimal | None:
    """Dollars for reading `messages` with `letters` characters of text; prices are dollars a million tokens.

    None when the connection has no price. An estimate: about 3.35 letters a token plus what goes with every call.
    """
    if price_in is None and price_out is None:
        return None
    calls = -(-messages // max(per_call, 1))
    tokens_in = Decimal(letters) / Decimal("3.35") + calls * PROMPT_OVERHEAD_TOKENS
    tokens_out = Decimal(calls * ANSWER_TOKENS)
    return (tokens_in * (price_in or 0) + tokens_out * (price_out or 0)) / MILLION
