"""How many tokens a text has, without a tokenizer: UTF-8 bytes over a ratio that reported usage keeps calibrating."""

from __future__ import annotations

import math

DEFAULT_RATIO = 3.35
SLOWNESS = 0.1
RATIO_RANGE = (1.2, 8.0)
SMALLEST_SAMPLE = 50


def estimate_tokens(text: str, bytes_per_token: float = DEFAULT_RATIO) -> int:
    """Tokens of `text`, rounded up; 0 for an empty text. Lone surrogates count like any other character."""
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / bytes_per_token)


def calibrated(ratio: float, text_bytes: int, tokens: int) -> float:
    """`ratio` moved a tenth of the way towards what one call showed (bytes sent over tokens reported).

    Small samples are mostly chat template and teach nothing; absurd reports are held inside RATIO_RANGE.
    """
    if tokens < SMALLEST_SAMPLE or text_bytes <= 0:
        return ratio
    low, high = RATIO_RANGE
    seen = min(high, max(low, text_bytes / tokens))
    return round(ratio + SLOWNESS * (seen - ratio), 4)
