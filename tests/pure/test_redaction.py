"""What never stands in a log line."""

from __future__ import annotations

import pytest

from jobs.redaction import redact


@pytest.mark.parametrize(
    "line",
    [
        "Forbidden (CSRF cookie not set.): /join/canary-0123456789_abc/",
        "Internal Server Error: /password/6b1f5e0e-3a52-4c3e-9f0a-0123456789ab/canary-0123456789/",
        "Authorization: Bearer canary0123456789",
        '{"x-api-key": "canary0123456789"}',
        "GET https://wren:canary@example.org/v1",
        "Cookie: charmem=canary0123456789; other=1",
    ],
)
def test_secrets_are_cut_out(line: str) -> None:
    assert "canary" not in redact(line)


def test_the_rest_stays() -> None:
    line = "Job 7 (extract) ended with KeyError at /join/ and /password/ in memories/join/file.py"
    assert redact(line) == line
