"""Every date form of spec/sillytavern §4, and those that are none."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.tavern.dates import date_in_name, parse_date


@pytest.mark.parametrize(
    ("raw", "moment"),
    [
        ("2025-06-15T15:55:10.000Z", datetime(2025, 6, 15, 15, 55, 10, tzinfo=UTC)),
        ("2025-06-15T15:55:10.250+02:00", datetime(2025, 6, 15, 13, 55, 10, 250000, tzinfo=UTC)),
        ("June 19, 2023 2:20pm", datetime(2023, 6, 19, 14, 20, tzinfo=UTC)),
        ("June 19, 2023 12:05am", datetime(2023, 6, 19, 0, 5, tzinfo=UTC)),
        ("2024-07-12@01h31m37s123ms", datetime(2024, 7, 12, 1, 31, 37, 123000, tzinfo=UTC)),
        ("2024-7-12@01h31m37s", datetime(2024, 7, 12, 1, 31, 37, tzinfo=UTC)),
        ("2024-6-5 @14h 56m 50s 682ms", datetime(2024, 6, 5, 14, 56, 50, 682000, tzinfo=UTC)),
        (1687184450012, datetime(2023, 6, 19, 14, 20, 50, 12000, tzinfo=UTC)),
        ("1687184450012", datetime(2023, 6, 19, 14, 20, 50, 12000, tzinfo=UTC)),
        ("Mon Jun 19 2023 16:20:50 GMT+0200 (CEST)", datetime(2023, 6, 19, 14, 20, 50, tzinfo=UTC)),
    ],
)
def test_every_form_is_read(raw: Any, moment: datetime) -> None:
    assert parse_date(raw) == moment


@pytest.mark.parametrize(
    "raw",
    [
        "15/01/2024",
        "01/02/2024",
        "",
        "yesterday",
        None,
        True,
        1764440000000000,
        "June 31, 2023 2:20pm",
        "2024-13-01T00:00:00Z",
        -1,
    ],
)
def test_no_date_is_guessed(raw: Any) -> None:
    assert parse_date(raw) is None


def test_a_chats_name_carries_its_date() -> None:
    assert date_in_name("Mara - 2026-11-29@17h34m18s342ms") == datetime(2026, 11, 29, 17, 34, 18, 342000, tzinfo=UTC)
    assert date_in_name("My checkpoint") is None


@given(st.text() | st.integers() | st.floats() | st.lists(st.integers()))
def test_nothing_breaks_it(raw: Any) -> None:
    moment = parse_date(raw)
    assert moment is None or 1990 <= moment.year <= 2200
