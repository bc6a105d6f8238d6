"""Which model SillyTavern talks to, read from its settings: its own connection, and Connection Profiles by their id."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.tavern.model_routes import MAIN, NoRoute, Route, choices, handle_of, kept, route_of

PROXY = {"name": "Home", "url": "https://proxy.example/v1", "password": "canary-proxy-password"}

BEHIND = {"reverse_proxy": "https://p", "proxy_password": "s"}


def settings(profiles: list[Any] = [], **over: Any) -> dict[str, Any]:  # noqa: B006  never changed
    whole = {"main_api": "openai", "proxies": [PROXY], **over}
    whole["extension_settings"] = {"connectionManager": {"profiles": profiles}}
    return kept(whole)


def profile(**over: Any) -> dict[str, Any]:
    return {"id": "abcdef12-3456", "name": "Night", "mode": "cc", "api": "openrouter", "model": "x/y", **over}


def why(found: dict[str, Any], handle: str = "") -> tuple[str, str]:
    with pytest.raises(NoRoute) as caught:
        route_of(found, handle)
    return caught.value.why, caught.value.name


@pytest.mark.parametrize(
    ("chosen", "source", "model", "fields"),
    [
        ({"openai_model": "gpt-5"}, "openai", "gpt-5", {}),
        ({"chat_completion_source": "makersuite", "google_model": "gemini-x"}, "makersuite", "gemini-x", {}),
        ({"chat_completion_source": "openrouter", "openrouter_model": "OR_Website"}, "openrouter", "", {}),
        (
            {"chat_completion_source": "openrouter", "openrouter_model": "a/b", "openrouter_providers": ["Z"]},
            "openrouter",
            "a/b",
            {"provider": ["Z"]},
        ),
        (
            {
                "chat_completion_source": "claude",
                "claude_model": "c",
                "reverse_proxy": "https://p",
                "proxy_password": "s",
            },
            "claude",
            "c",
            BEHIND,
        ),
        (
            {"chat_completion_source": "groq", "groq_model": "g", **BEHIND},
            "groq",
            "g",
            {},
        ),
        (
            {
                "chat_completion_source": "custom",
                "custom_url": "http://h/v1",
                "custom_model": "m",
                "custom_include_headers": "X-A: 1",
                "custom_prompt_post_processing": "merge",
            },
            "custom",
            "m",
            {"custom_url": "http://h/v1", "custom_include_headers": "X-A: 1", "custom_prompt_post_processing": "merge"},
        ),
    ],
)
def test_what_sillytavern_itself_is_set_to(chosen: Any, source: str, model: str, fields: Any) -> None:
    assert route_of(settings(oai_settings=chosen), MAIN) == Route("chat", source, model, fields)


@pytest.mark.parametrize(
    ("chosen", "model", "fields"),
    [
        (
            {"type": "ollama", "ollama_model": "q", "server_urls": {"ollama": "http://o"}},
            "q",
            {"api_server": "http://o", "num_ctx": 8192},
        ),
        ({"type": "mancer", "mancer_model": "m"}, "m", {"api_server": "https://neuro.mancer.tech"}),
        ({"type": "koboldcpp", "server_urls": {"koboldcpp": "http://k"}}, "", {"api_server": "http://k"}),
        ({"custom_model": "m", "server_urls": {"ooba": "http://b"}}, "m", {"api_server": "http://b"}),
    ],
)
def test_text_completion(chosen: Any, model: str, fields: Any) -> None:
    found = settings(main_api="textgenerationwebui", max_context=8192, textgenerationwebui_settings=chosen)
    assert route_of(found, MAIN) == Route("text", chosen.get("type", "ooba"), model, fields)


def test_profiles_say_all_that_is_theirs() -> None:
    secret = profile(**{"secret-id": "s1", "prompt-post-processing": "strict"})
    assert route_of(settings([secret]), "Night [abcdef12]") == Route(
        "chat", "openrouter", "x/y", {"secret_id": "s1", "custom_prompt_post_processing": "strict"}
    )
    proxied = profile(api="oai", proxy="Home")
    assert route_of(settings([proxied]), "Night [abcdef12]").fields == {
        "reverse_proxy": PROXY["url"],
        "proxy_password": PROXY["password"],
    }
    text = profile(api="kcpp", mode="tc", model="", **{"api-url": "http://k"})
    assert route_of(settings([text]), "Night") == Route("text", "koboldcpp", "", {"api_server": "http://k"})


def test_headers_of_the_current_endpoint_do_not_go_to_a_profiles() -> None:
    current = {"custom_url": "http://a/v1", "custom_include_headers": "Authorization: canary"}
    there = profile(api="custom", model="m", **{"api-url": "http://b/v1"})
    assert route_of(settings([there], oai_settings=current), "Night").fields == {"custom_url": "http://b/v1"}


def test_a_profile_is_found_by_its_id_when_it_was_renamed() -> None:
    renamed = profile(name="Day")
    assert route_of(settings([renamed]), "Night [abcdef12]").model == "x/y"
    assert why(settings([renamed]), "Night") == ("gone", "Night")
    assert why(settings([profile(id="other")]), "Night [abcdef12]") == ("gone", "Night [abcdef12]")
    twins = [profile(id="abcdef12-a", name="A", model="a"), profile(id="abcdef12-b", name="B", model="b")]
    assert route_of(settings(twins), "B [abcdef12]").model == "b"
    assert why(settings(twins), "C [abcdef12]") == ("gone", "C [abcdef12]")


@pytest.mark.parametrize(
    ("found", "handle", "reason"),
    [
        (settings(main_api="kobold"), "", ("kind", "KoboldAI Classic")),
        (settings(main_api=""), "", ("nothing", "")),
        (settings([profile(api="novel")]), "Night", ("kind", "NovelAI")),
        (settings([profile(api="brandnew", mode="tc")]), "Night", ("kind", "brandnew")),
        (settings([profile(api="")]), "Night", ("nothing", "Night [abcdef12]")),
        (settings([profile(api="vllm")]), "Night", ("address", "vllm")),
        (settings([profile(api="custom")]), "Night", ("address", "custom")),
        (settings([profile(api="claude", proxy="Sold")]), "Night", ("proxy", "Sold")),
    ],
)
def test_what_cannot_be_asked_says_why(found: dict[str, Any], handle: str, reason: tuple[str, str]) -> None:
    assert why(found, handle) == reason


def test_the_choices_are_all_there_also_those_that_cannot_be_asked() -> None:
    found = settings([profile(), profile(id="99", name="Far", api="horde"), {"name": "no id"}, 7])
    assert [(one.handle, one.source) for one in choices(found)] == [
        (MAIN, "openai"),
        ("Night [abcdef12]", "openrouter"),
        ("Far [99]", ""),
    ]
    assert handle_of(profile(name="two\nlines \x07")) == "two lines [abcdef12]"


def test_a_proxys_password_shows_in_no_text_of_a_route() -> None:
    route = route_of(settings([profile(api="openai", proxy="Home")]), "Night")
    assert PROXY["password"] in route.fields.values() and PROXY["password"] not in repr(route)


NAMES = ("id", "name", "api", "mode", "model", "proxy", "api-url", "secret-id", "chat_completion_source", "type")
ODD = st.sampled_from([None, True, -7, 1e999, "", "custom", "vllm", "\ud800", [], [3], {}, {"a": [{}]}])
TABLES = st.dictionaries(st.sampled_from(NAMES), ODD, max_size=6)


@given(ODD | TABLES, ODD, ODD | st.lists(ODD | TABLES, max_size=3), st.sampled_from(["", "x", "x [a]"]))
def test_odd_settings_are_a_reason_and_no_crash(oai: Any, main: Any, profiles: Any, handle: str) -> None:
    found = settings(profiles, main_api=main, oai_settings=oai, textgenerationwebui_settings=oai)
    for wanted in (handle, *(one.handle for one in choices(found))):
        try:
            assert isinstance(route_of(found, wanted).source, str)
        except NoRoute as problem:
            assert problem.why
