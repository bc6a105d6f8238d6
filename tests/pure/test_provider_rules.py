"""Small rules of model connections: addresses, tokens, waiting times."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime

import pytest

from providers.addresses import is_local, is_never_allowed, unwrap
from providers.base_url import clean_base_url, with_version
from providers.pauses import asked_pause, parse_retry_after, pause_until_reset
from providers.quoting import without_echo
from providers.tokens import calibrated, estimate_tokens

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("typed", "cleaned"),
    [
        ("https://api.example.com/v1/", "https://api.example.com/v1"),
        (" https://api.example.com/v1/chat/completions ", "https://api.example.com/v1"),
        ("https://api.example.com/v1/chat/completions/?x=1#y", "https://api.example.com/v1"),
        ("https://api.anthropic.com/v1/messages", "https://api.anthropic.com/v1"),
        ("`http://127.0.0.1:11434/v1/models`", "http://127.0.0.1:11434/v1"),
        ("192.168.1.5:5001", "http://192.168.1.5:5001"),
        ("", ""),
    ],
)
def test_pasted_addresses_are_cleaned(typed: str, cleaned: str) -> None:
    assert clean_base_url(typed, scheme="http") == cleaned


def test_a_forgotten_version_is_offered() -> None:
    assert with_version("http://127.0.0.1:11434") == "http://127.0.0.1:11434/v1"
    assert with_version("http://127.0.0.1:11434/v1") is None
    assert with_version("https://api.example.com/openai/v1beta/x") is None


@pytest.mark.parametrize(
    "text",
    [
        "169.254.169.254",
        "fe80::1",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "ff02::1",
        "::",
        "fd00:ec2::254",
        "100.100.100.200",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "240.0.0.1",
    ],
)
def test_some_addresses_are_never_allowed(text: str) -> None:
    assert is_never_allowed(ipaddress.ip_address(text))


def test_disguised_loopback_is_still_loopback() -> None:
    for text in ("::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::127.0.0.1"):
        assert str(unwrap(ipaddress.ip_address(text))) == "127.0.0.1"
        assert is_local(ipaddress.ip_address(text))
    assert not is_local(ipaddress.ip_address("1.1.1.1"))


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7),
        ("0.5", 0.5),
        ("Sun, 01 Mar 2026 12:01:00 GMT", 60),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0),
        ("-5", 0),
        ("999999999", 86400),
        ("soon", None),
        ("nan", None),
        ("", None),
    ],
)
def test_retry_after_comes_as_seconds_or_as_date(header: str, seconds: float | None) -> None:
    assert parse_retry_after(header, NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "data", "said", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "9"}, None, "", 1.5),
        ({"retry-after": "9"}, None, "try again in 5s", 9),
        ({}, {"error": {"details": [{"reason": "x"}, {"retryDelay": "34.5s"}]}}, "Please retry in 99s.", 34.5),
        ({}, {"error": {"metadata": {"headers": {"X-RateLimit-Reset": "1772366490000"}}}}, "", 90),
        ({}, None, "Rate limit reached for gpt-5. Please try again in 7.66s. Visit https://x.", 7.66),
        ({}, None, "Please try again in 1m12.5s.", 72.5),
        ({}, None, "Please try again in 20ms", 0.02),
        ({}, None, "please wait 2 minutes and 3 seconds", 123),
        ({}, None, "Retry after 1 hour.", 3600),
        ({}, None, "try again in 99 days", 86400),
        ({}, None, "Try again later. Your limit is 20 requests.", None),
        ({}, None, "You used 5s of 5s.", None),
        ({}, {"error": {"details": [{"retryDelay": "soon"}, 5], "metadata": {"headers": 5}}}, "", None),
        ({}, {"error": {"metadata": {"headers": {"X-RateLimit-Reset": 10**400}}}}, "", None),
        ({"retry-after": "Sun, 01 Mar 2026 12:01:00 +99999999999999999999"}, None, "", None),
        ({"retry-after": "1e999"}, None, "", 86400),
        ({}, {"error": "text"}, "", None),
        ({}, [5], "", None),
        ({"retry-after-ms": "soon"}, None, "", None),
    ],
)
def test_a_pause_is_found_wherever_it_is_asked_for(
    headers: dict[str, str], data: object, said: str, seconds: float | None
) -> None:
    found = asked_pause(headers, data, said, NOW)
    assert found == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, 360),
        ({"x-ratelimit-reset-requests": "120ms", "x-ratelimit-reset-tokens": "7.66s"}, 0.12),
        (
            {
                "x-ratelimit-remaining-requests": "99",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "34.5s",
            },
            34.5,
        ),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1772366490000"}, 90),
        ({"x-ratelimit-reset": "1772366490"}, 90),
        ({"ratelimit-reset": "50"}, 50),
        (
            {
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "2026-03-01T12:00:42Z",
                "anthropic-ratelimit-requests-remaining": "7",
                "anthropic-ratelimit-requests-reset": "2026-03-01T12:00:01Z",
            },
            42,
        ),
        ({"anthropic-ratelimit-requests-reset": "2026-03-01T11:00:00Z"}, 0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "99999999999999999"}, 86400),
        ({"x-ratelimit-remaining": "none", "x-ratelimit-reset": "soon"}, None),
        ({"x-ratelimit-remaining": "0"}, None),
        ({"x-ratelimit-reset": "nan"}, None),
        ({}, None),
    ],
)
def test_headers_tell_when_an_allowance_is_there_again(headers: dict[str, str], seconds: float | None) -> None:
    assert pause_until_reset(headers, NOW) == (None if seconds is None else pytest.approx(seconds))


def test_estimates_follow_what_the_server_reports() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("abcdefg") == 3
    assert estimate_tokens("\ud800") == 1
    ratio = 3.35
    for _call in range(60):
        ratio = calibrated(ratio, 2000, 1000)
    assert abs(ratio - 2.0) < 0.01
    assert calibrated(3.35, 10, 3) == 3.35
    assert calibrated(3.35, 10**9, 100) < 4


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Bad input: 'Mira keeps the brass key.' is refused.", "Bad input: '….' is refused."),
        ('Bad input: KEEP  MEMORIES.\\n#1 Mira: "mira" k', "Bad input: …"),
        ("Bad: \\u30df\\u30e9\\u306f\\u771f", "Bad: \\…"),
        ("The maximum context length is 4096 tokens, Mira.", "The maximum context length is 4096 tokens, Mira."),
        ("入力が不正です:「ミラは真鍮の鍵を井戸の下に隠した」", "入力が不正です:「…」"),
        ("Mira keeps the brass key, says Mira keeps the brass key", "…, says …"),
        ("", ""),
    ],
)
def test_an_error_does_not_repeat_the_question(said: str, left: str) -> None:
    question = "You keep memories.\n#1 Mira: Mira keeps the brass key.\nミラは真鍮の鍵を井戸の下に隠した"
    assert without_echo(said, "", question) == left
