"""Only named keys of settings.json are kept."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sync.tavern.settings_file import SettingsError, read_settings

FILE = {
    "currentVersion": "1.19.0",
    "username": "Ren",
    "power_user": {"personas": {"ren.png": "Ren"}, "persona_description": "CANARY"},
    "world_info_settings": {
        "world_info": {"globalSelect": ["Harbour"], "charLore": [{"name": "Mara", "extraBooks": ["B"]}]}
    },
    "textgenerationwebui_settings": {"server_urls": {"ollama": "http://127.0.0.1:11434"}, "api_key": "CANARY"},
    "oai_settings": {"proxy_password": "CANARY"},
    "extension_settings": {
        "apiKey": "CANARY",
        "attachments": [{"url": "/user/files/1.txt", "size": 5, "name": "a.txt", "created": 7}, {"name": "no url"}, 3],
        "character_attachments": {"Mara.png": [{"url": "/user/files/2.txt"}], "Looked at.png": []},
        "disabled_attachments": ["/user/files/1.txt"],
        "disabledExtensions": ["tts"],
        "vectors": {"source": "vllm", "enabled_files": True, "vllm_api_key": "CANARY"},
    },
}


def test_what_is_kept() -> None:
    found = read_settings(json.dumps(FILE).encode())
    assert (found.version, found.persona_name, found.personas) == ("1.19.0", "Ren", {"ren.png": "Ren"})
    assert found.vectors == {"source": "vllm", "enabled_files": True}
    assert [(one.url, one.name, one.size, one.created_ms) for one in found.attachments] == [
        ("/user/files/1.txt", "a.txt", 5, 7)
    ]
    assert {avatar: len(listed) for avatar, listed in found.character_attachments.items()} == {
        "Mara.png": 1,
        "Looked at.png": 0,
    }
    assert (found.global_lorebooks, found.character_lorebooks) == (["Harbour"], {"Mara": ["B"]})
    assert (found.disabled_attachments, found.disabled_extensions) == (["/user/files/1.txt"], ["tts"])
    assert found.server_urls == {"ollama": "http://127.0.0.1:11434"}
    assert "CANARY" not in repr(found)


def test_absent_keys_are_empty() -> None:
    found = read_settings(b"{}")
    assert (found.version, found.vectors, found.attachments, found.character_attachments) == ("", {}, [], {})


def test_a_byte_order_mark_is_read() -> None:
    assert read_settings(b"\xef\xbb\xbf" + json.dumps(FILE).encode()).persona_name == "Ren"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"{", "settings.json is not valid JSON."),
        (b"[]", "settings.json does not hold settings."),
        (b"\xff\xfe", "settings.json is not written in UTF-8."),
        (b"[" * 100_000, "settings.json is not valid JSON."),
    ],
)
def test_what_is_wrong_has_a_sentence(data: bytes, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings(data)
    assert str(caught.value) == sentence


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(st.sampled_from(sorted(FILE)), json_values),
    st.dictionaries(st.sampled_from(sorted(FILE["extension_settings"])), json_values),
)  # type: ignore[arg-type]
def test_no_json_breaks_it(top: dict[str, object], extensions: dict[str, object]) -> None:
    read_settings(json.dumps({**top, "extension_settings": extensions}).encode())
