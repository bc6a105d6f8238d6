"""Keeps secrets out of every log line (stack-notes §9.14)."""

from __future__ import annotations

import logging
import re

PATTERNS = (
    re.compile(
        r"(?i)(authorization|x-api-key|api[_-]?key|cookie|set-cookie|x-csrf-token)(['\"]?\s*[:=]\s*['\"]?)(?:bearer\s+|basic\s+)?[^\s'\",;&]+"
    ),
    re.compile(r"(?i)\b(bearer|basic)\s+[a-z0-9._~+/=-]{8,}"),
    re.compile(r"\b(?:sk|pk|gsk|xai|nvapi)-[A-Za-z0-9_-]{6,}"),
    re.compile(r"\bgAAAA[A-Za-z0-9_=-]{20,}"),
    re.compile(r"(?<=://)[^/\s@]+@"),
    re.compile(r"/(?:join|password/[0-9a-f-]{36})/[\w-]{8,}"),
)


def redact(text: str) -> str:
    """`text` with keys, tokens, cookies and URL passwords replaced by dots."""
    text = PATTERNS[0].sub(r"\1\2…", text)
    for pattern in PATTERNS[1:]:
        text = pattern.sub("…", text)
    return text


class RedactSecrets(logging.Filter):
    """Rewrites each record before it is written."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg = redact(record.getMessage())
        record.args = None
        if record.exc_info:
            record.exc_text = redact(logging.Formatter().formatException(record.exc_info))
        return True
