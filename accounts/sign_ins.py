"""Open sessions as rows that a person can look at and end."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module

from django.conf import settings
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.sessions.backends.base import SessionBase
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from accounts.addresses import client_address
from accounts.models import SignIn, User

STAY = 30 * 24 * 3600
BACKEND = "django.contrib.auth.backends.ModelBackend"
SEEN_EVERY = timedelta(minutes=5)


def sign_in(request: HttpRequest, person: User, *, stay: bool = True) -> None:
    """Open a session for `person` and write it down; `stay` keeps it for 30 days, else it ends with the browser."""
    _forget_expired()
    login(request, person, backend=BACKEND)
    request.session.set_expiry(STAY if stay else 0)
    row = SignIn.objects.create(
        user=person,
        session_key=request.session.session_key or "",
        address=client_address(request) or None,
        agent=request.META.get("HTTP_USER_AGENT", "")[:200],
    )
    request.session["sign_in"] = str(row.pk)
    request.session["seen"] = timezone.now().isoformat()


def sessions(person: User) -> QuerySet[SignIn]:
    """Where this person is signed in, the latest first."""
    return SignIn.objects.filter(user=person).order_by("-seen_at")


def current_id(request: HttpRequest) -> str:
    """Id of the row of this very session, "" when it has none."""
    return str(request.session.get("sign_in", ""))


def note_visit(request: HttpRequest) -> None:
    """Remember that this session was used, at most every five minutes."""
    seen = parse_datetime(str(request.session.get("seen", "")))
    now = timezone.now()
    if seen is None or now - seen < SEEN_EVERY:
        return
    SignIn.objects.filter(pk=current_id(request)).update(seen_at=now)
    request.session["seen"] = now.isoformat()


def end(row: SignIn) -> None:
    """End one session wherever it is."""
    _store(row.session_key).delete()
    row.delete()


def end_all(person: User, *, but: str = "") -> int:
    """End every session of `person` except the one with row id `but`; says how many."""
    rows = [row for row in sessions(person) if str(row.pk) != but]
    for row in rows:
        end(row)
    return len(rows)


def forget_current(request: HttpRequest) -> None:
    """The person signs out here."""
    SignIn.objects.filter(session_key=request.session.session_key or "").delete()


def change_password(request: HttpRequest, person: User, password: str) -> int:
    """Set a new password, keep this session, end all others; says how many."""
    person.set_password(password)
    person.save(update_fields=["password"])
    update_session_auth_hash(request, person)
    if row := current_id(request):
        SignIn.objects.filter(pk=row).update(session_key=request.session.session_key or "")
    return end_all(person, but=current_id(request))


def _forget_expired() -> None:
    """Sessions that nobody can use any more leave the list and the table."""
    oldest = timezone.now() - timedelta(seconds=settings.SESSION_COOKIE_AGE)
    SignIn.objects.filter(seen_at__lt=oldest).delete()
    _store("").clear_expired()


def _store(session_key: str) -> SessionBase:
    store: type[SessionBase] = import_module(settings.SESSION_ENGINE).SessionStore
    return store(session_key)
