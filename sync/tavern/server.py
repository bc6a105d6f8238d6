"""SillyTavern's own server over HTTP: session, CSRF, accounts, basic auth, vector index (spec/sillytavern §2–3).

One `Server` is one session. Requests go out one after another: SillyTavern's vector endpoints do not stand being
called at the same time (spec/sillytavern §0.7).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from providers.base import Stop
from providers.network import Policy
from providers.transport import TOTAL_SECONDS, Answer, Client, TransportError, open_client
from sync.tavern.chunks import Chunk

INSERT = "/api/vector/insert"
PATIENCE = 60.0


class ServerError(Exception):
    """SillyTavern could not be asked. The message is a finished sentence; `hint` says what to do; `status` is that of
    its refusal, if there was one. What the transport said is the cause."""

    def __init__(self, message: str, hint: str = "", status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.status = status


@dataclass(frozen=True)
class Login:
    """How to get in: an account of SillyTavern (accounts mode), basic auth, both, or neither."""

    handle: str = ""
    password: str = ""
    basic_name: str = ""
    basic_password: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """The basic auth header, if there is a name."""
        if not self.basic_name:
            return {}
        pair = f"{self.basic_name}:{self.basic_password}".encode()
        return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}


class Server:
    """One session with a SillyTavern. Made by `connect()` or `opened()`.

    `stop` is asked several times a second while a request is under way; when it says so the connection is closed.
    """

    def __init__(self, client: Client, login: Login, patience: float) -> None:
        self.stop: Stop | None = None
        self._client = client
        self._login = login
        self._patience = patience
        self._token = ""

    def sign_in(self) -> None:
        """Fetch a CSRF token and log in where a handle is given. Raises ServerError."""
        token = self._json(self._send("GET", "/csrf-token")).get("token")
        if not isinstance(token, str) or not token:
            raise _not_sillytavern()
        self._token = token
        if self._login.handle:
            self._send_login()

    def version(self) -> str:
        """SillyTavern's version, "" when it does not say."""
        return str(self._json(self._send("GET", "/version")).get("pkgVersion") or "")

    def has_accounts(self) -> bool:
        """Whether this SillyTavern asks for a login: a session that has not logged in is turned away."""
        return self._answer("GET", "/api/users/me").status == 403

    def settings(self) -> dict[str, Any]:
        """settings.json as the server sees it now. Callers keep named keys only."""
        return dict(json.loads(self._json(self.post("/api/settings/get")).get("settings") or "{}"))

    def read_file(self, name: str) -> str:
        """The text of a Data Bank file as this account's server gives it out."""
        return self._send("GET", f"/user/files/{name}").text

    def insert_vectors(self, body: dict[str, Any], collection: str, chunks: Sequence[Chunk]) -> None:
        """Have SillyTavern embed these chunks and append them to a collection."""
        items = [{"hash": chunk.hash, "text": chunk.text, "index": chunk.index} for chunk in chunks]
        self.post(INSERT, {**body, "collectionId": collection, "items": items})

    def list_vectors(self, body: dict[str, Any], collection: str) -> list[int]:
        """The hashes in a collection. Makes an empty collection when there is none."""
        hashes = self.post("/api/vector/list", {**body, "collectionId": collection}).json()
        return [int(one) for one in hashes] if isinstance(hashes, list) else []

    def purge_vectors(self, collection: str) -> None:
        """Throw a collection away, in every source and model. Only ever for a staging collection of our own."""
        self.post("/api/vector/purge", {"collectionId": collection})

    def post(self, path: str, body: dict[str, Any] | None = None) -> Answer:
        """A call with cookie and CSRF token; an expired session is renewed once."""
        answer = self._answer("POST", path, body)
        if answer.status == 403:
            self.sign_in()
            answer = self._answer("POST", path, body)
        return self._checked(answer, path)

    def ask(self, path: str, body: dict[str, Any], *, idle: float) -> Answer:
        """The answer to a POST whatever its status, after at most TOTAL_SECONDS; an expired session is renewed once.

        `idle`: seconds of silence that are borne. Raises ServerError when SillyTavern itself lets nobody in (or its
        guards do), TransportError when no answer came.
        """
        if not self._token:
            self.sign_in()
        answer = self._asked(path, body, idle)
        if answer.status == 403:
            self.sign_in()
            answer = self._asked(path, body, idle)
        if answer.status in (401, 403, 404) and "json" not in answer.content_type:
            raise ServerError(*_sentence(answer, path), answer.status)
        return answer

    def close(self) -> None:
        """End the session."""
        self._client.close()

    def _asked(self, path: str, body: dict[str, Any], idle: float) -> Answer:
        headers = {"X-CSRF-Token": self._token}
        return self._client.post(path, json=body, headers=headers, idle=idle, stop=self.stop)

    def _send_login(self) -> None:
        body = {"handle": self._login.handle, "password": self._login.password}
        answer = self._answer("POST", "/api/users/login", body)
        if answer.status == 403:
            raise ServerError(
                _("SillyTavern did not accept this name and password."),
                _("Check the account's name and its password."),
                answer.status,
            )
        self._checked(answer, "/api/users/login")

    def _send(self, method: str, path: str) -> Answer:
        return self._checked(self._answer(method, path), path)

    def _answer(self, method: str, path: str, body: dict[str, Any] | None = None) -> Answer:
        headers = {"X-CSRF-Token": self._token} if self._token else {}
        payload = (body or {}) if method == "POST" else None
        try:
            total = TOTAL_SECONDS if path == INSERT else self._patience
            return self._client.request(method, path, json=payload, headers=headers, total=total, stop=self.stop)
        except TransportError as error:
            raise ServerError(error.message, error.hint) from error

    def _checked(self, answer: Answer, path: str) -> Answer:
        if answer.status < 300:
            return answer
        raise ServerError(*_sentence(answer, path), answer.status)

    def _json(self, answer: Answer) -> dict[str, Any]:
        try:
            value = answer.json()
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise _not_sillytavern()
        return value


@contextmanager
def connect(url: str, policy: Policy, login: Login | None = None, *, patience: float = PATIENCE) -> Iterator[Server]:
    """A signed-in session with the SillyTavern at `url`. Raises ServerError with a sentence.

    `patience`: seconds that each request may take as a whole; embedding alone may take longer.
    """
    server = opened(url, policy, login or Login(), patience=patience)
    try:
        server.sign_in()
        yield server
    finally:
        server.close()


def opened(url: str, policy: Policy, login: Login, *, patience: float = PATIENCE) -> Server:
    """A session that signs in when it is first used; the caller closes it. Raises ServerError for a wrong address."""
    try:
        client = open_client(url, policy, headers=login.headers, cookies=True)
    except TransportError as error:
        raise ServerError(error.message, error.hint) from error
    return Server(client, login, patience)


def check_login(url: str, policy: Policy, login: Login, *, patience: float = PATIENCE) -> str:
    """The handle of the account that this login opens, proved by SillyTavern itself. Raises ServerError.

    A SillyTavern without accounts lets everybody in and so proves nothing about a folder: that is refused too.
    """
    outside = Login(basic_name=login.basic_name, basic_password=login.basic_password)
    with connect(url, policy, outside, patience=patience) as visitor:
        if not visitor.has_accounts():
            raise ServerError(
                _("This SillyTavern has no accounts, so a login proves nothing."),
                _("Ask an admin of CharMem to assign the folder to you."),
            )
    with connect(url, policy, login, patience=patience) as member:
        return str(member._json(member._send("GET", "/api/users/me")).get("handle") or "")


def _not_sillytavern() -> ServerError:
    return ServerError(_("What answers at this address is not SillyTavern."), _("Check the address and the port."))


def _sentence(answer: Answer, path: str) -> tuple[str, str]:
    """What an error status of SillyTavern means, and what to do."""
    status = answer.status
    if status == 401:
        return _("SillyTavern asks for a name and password (basic auth)."), _(
            "Add them to its address in the settings."
        )
    if status == 403:
        return _("SillyTavern refused the request (403)."), _(
            "Log in with the account of this folder, and check SillyTavern's whitelist of addresses."
        )
    if status == 429:
        return _("SillyTavern had too many failed logins and asks to wait."), _("Try again in a minute.")
    if status == 404:
        return _("What answers at this address is not SillyTavern."), _("Check the address and the port.")
    if path == INSERT:
        return _("SillyTavern could not embed the text (%(status)s).") % {"status": status}, _(
            "Check that the vectorization source that is set under Vector Storage answers and has its key."
        )
    return _("SillyTavern answered with an error (%(status)s).") % {"status": status}, _(
        "Look at SillyTavern's console."
    )
