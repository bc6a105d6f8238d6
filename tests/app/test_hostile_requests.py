"""Requests that no page of ours makes: too large, with NUL, leading elsewhere. None of them ends in a crash."""

from __future__ import annotations

import pytest
from django.test import Client, RequestFactory

from accounts.models import User
from charmem_site.middleware import CSP
from charmem_site.wsgi import application
from tests.support.builders import make_world
from tests.support.people import PASSWORD, make_person


def test_a_body_that_no_page_sends_is_not_read(db: None, client: Client, settings: object) -> None:
    """Not even a visitor can fill the disk with files that nobody asked for."""
    body = b"x" * (2 * 1024 * 1024 + 1)
    answer = client.post("/login/", body, content_type="multipart/form-data; boundary=x")
    assert (answer.status_code, answer.headers["Content-Type"]) == (413, "text/plain; charset=utf-8")
    assert answer.wsgi_request._read_started is False  # type: ignore[attr-defined]
    assert client.post("/login/", {"username": "alice"}).status_code == 422


@pytest.mark.parametrize("length", ["-1", "1e9", "9" * 30])
def test_odd_lengths_are_refused(client: Client, length: str) -> None:
    assert client.get("/login/", CONTENT_LENGTH=length).status_code == 413


def test_nul_in_an_address_is_refused(alice: User, alice_client: Client) -> None:
    world = make_world(alice)
    for path in (f"/characters/{world['character'].pk}/", f"/characters/{world['character'].pk}/chats/", "/help/"):
        assert alice_client.get(path, {"q": "a\x00b"}).status_code == 400


@pytest.mark.parametrize(
    "wanted", ["nonsense", "//evil.example/", "/\\evil.example", "https://evil.example", "javascript:alert(1)", "\\\\e"]
)
def test_forms_lead_nowhere_else(alice: User, alice_client: Client, wanted: str) -> None:
    world = make_world(alice)
    answer = alice_client.post(f"/memories/{world['memory'].pk}/move/", {"to": "up", "next": wanted})
    assert answer.headers["Location"] == f"/characters/{world['character'].pk}/"


def test_every_answer_carries_the_policies(client: Client, alice_client: Client) -> None:
    for answer in (
        client.get("/login/"),
        client.get("/healthz"),
        client.get("/nowhere/"),
        alice_client.get("/nowhere/"),
        client.get("/login/", headers={"Host": "evil.example"}),
        client.get("/static/icons.svg"),
        client.post("/login/", b"x" * 3_000_000, content_type="text/plain"),
        Client(enforce_csrf_checks=True).post("/login/", {}),
    ):
        assert answer.headers["Content-Security-Policy"] == CSP
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["Referrer-Policy"] == "same-origin"


def test_no_script_reads_our_cookies(db: None, client: Client) -> None:
    """SillyTavern on the same computer shares the host name, and so the cookies that scripts may see."""
    make_person("wren")
    client.post("/login/", {"username": "wren", "password": PASSWORD})
    assert {name: bool(cookie["httponly"]) for name, cookie in client.cookies.items()} == {
        "charmem": True,
        "charmem-csrf": True,
    }


@pytest.mark.parametrize("encoding", ["utf-7", "unicode_escape", "latin-1"])
def test_words_in_another_encoding_are_not_read(alice: User, alice_client: Client, encoding: str) -> None:
    """Some encodings say characters that no database holds."""
    world = make_world(alice)
    body = b'--b\r\nContent-Disposition: form-data; name="text"\r\n\r\n\\ud800 +2AA-\r\n--b--\r\n'
    files, fields = "multipart/form-data; boundary=b; charset=", "application/x-www-form-urlencoded; charset="
    for method, path in (("POST", f"/memories/{world['memory'].pk}/edit/"), ("GET", "/search/?q=%5Cud800%2B2AA-")):
        assert alice_client.generic(method, path, body, content_type=files + encoding).status_code == 415
    assert alice_client.generic("GET", "/search/?q=lantern", b"", content_type=f"{fields}UTF-8").status_code == 200


@pytest.mark.parametrize("page", ["http://[", "nonsense", "https://evil.example/drafts/", "\ud800", "%00"])
def test_a_page_that_is_no_address_is_nowhere(alice: User, alice_client: Client, page: str) -> None:
    world = make_world(alice)
    said = {"HX-Request": "true", "HX-Current-URL": page}
    assert alice_client.get(f"/memories/{world['memory'].pk}/", headers=said).status_code == 200
    assert alice_client.post(f"/drafts/{world['draft'].pk}/undo/", headers=said).status_code == 200


@pytest.mark.parametrize(
    "charset", ["charset=rot13", "charset=undefined", "charset=base64", "charset*=rot13''x", "charset=nonsense"]
)
def test_what_is_no_encoding_is_turned_away_before_anything_is_decoded(db: None, charset: str) -> None:
    """Through the callable that is served: Django's test client makes its requests past it."""
    environ = RequestFactory()._base_environ(  # type: ignore[attr-defined]
        PATH_INFO="/login/", QUERY_STRING="next=/", CONTENT_TYPE=f"application/x-www-form-urlencoded; {charset}"
    )
    answers: list[tuple[str, dict[str, str]]] = []
    body = b"".join(application(environ, lambda status, headers, *rest: answers.append((status, dict(headers)))))
    ((status, headers),) = answers
    assert status.startswith("415 ")
    assert headers["Content-Security-Policy"] == CSP
    assert body == b"CharMem reads UTF-8 only. Nothing was changed."


@pytest.mark.parametrize("kind", ["", "text/plain", "text/plain; charset=UTF-8", 'text/plain; charset="utf8"'])
def test_usual_kinds_of_body_pass(db: None, kind: str) -> None:
    environ = RequestFactory()._base_environ(PATH_INFO="/", CONTENT_TYPE=kind)  # type: ignore[attr-defined]
    answers: list[str] = []
    application(environ, lambda status, headers, *rest: answers.append(status))
    assert answers == ["302 Found"], "to the sign-in, which asks no database"
