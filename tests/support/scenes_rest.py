"""The rest of an installation: people, jobs in every state, spending, a folder that is away."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from accounts import invitations
from accounts.models import User
from jobs.models import Job, JobEvent
from providers import assigning
from providers.models import Call, Connection, ModelListing
from sync.models import Character, Tavern
from tests.support.builders import make_call, make_connection, make_grant, make_issue, make_job, make_tavern
from tests.support.people import make_person
from tests.support.scenes_models import found

LOG = (
    ("info", "604 messages in 118 chunks; 20 messages each, 2 of them read again."),
    ("info", "Chunk 40: 3 memories from messages 200 to 219."),
    ("warning", "deepseek-v3.1 answered 429, too many requests; waited 8 s and tried again."),
    ("info", "Chunk 41: 1 memory from messages 220 to 239."),
)


def add_log(job: Job, *more: tuple[str, str]) -> None:
    """A log as an extraction writes it."""
    JobEvent.objects.bulk_create(JobEvent(job=job, level=level, text=text) for level, text in (*LOG, *more))


def add_jobs(alice: User) -> dict[str, Any]:
    """A job in each state, with log and calls, beside those of the lived-in scene."""
    paid = Connection.objects.for_user(alice).get()
    jobs = Job.objects.for_user(alice)

    def subject(name: str) -> str:
        return f"character:{Character.objects.for_user(alice).get(name__startswith=name).pk}"

    running, failed = jobs.get(state="running"), jobs.get(state="failed")
    add_log(running)
    add_log(failed, ("error", "The model refused messages 240 to 259 three times."))
    Job.objects.for_user(alice).filter(pk=failed.pk).update(
        step=8, total=12, started_at=timezone.now() - timedelta(minutes=4)
    )
    until = timezone.now() + timedelta(minutes=6)
    paused = make_job(
        alice, label="Extract The Archivist of Nothing in Particular", subject=subject("The Archivist"), state="paused",
        not_before=until, step=3, total=30, doing="The provider asked to wait.",
        started_at=timezone.now() - timedelta(minutes=12),
    )  # fmt: skip
    make_job(alice, label="Extract UNIT-7", subject=subject("UNIT"))
    for job, calls in ((running, 9), (failed, 4)):
        for n in range(calls):
            make_call(alice, paid, job=job, model=paid.model, cost=Decimal("0.0013") + n * Decimal("0.0001"))
    free = _spend(alice, paid)
    _offer(paid)
    assigning.assign(alice, "extraction", None, [free])
    assigning.assign(alice, "conversion", free)
    assigning.choose_embedder(alice, free, "nomic-embed-text")
    return {"running": running, "failed-job": failed, "paused": paused, "paid": paid, "free": free}


def _offer(paid: Connection) -> None:
    """A list as NanoGPT and OpenRouter give it: known names, and hundreds of others."""
    known = [
        ("z-ai/glm-4.7", "GLM 4.7", "0.4", "1.75", 202_752, ["subscription", "open", "reasoning"]),
        ("deepseek/deepseek-v3.2", "DeepSeek V3.2", "0.27", "0.41", 163_840, ["subscription", "open"]),
        ("mistralai/mistral-large-2512", "Mistral Large 3 2512", "0.5", "1.5", 262_144, ["open"]),
        ("nousresearch/hermes-4-405b", "Hermes 4 405B", "1", "3", 131_072, ["open", "roleplay"]),
        ("qwen/qwen3-235b-a22b-2507", "Qwen3 235B A22B Instruct 2507", "0.07", "0.46", 262_144, ["open"]),
        ("meta-llama/llama-3.2-1b-instruct", "Llama 3.2 1B Instruct", "0", "0", 60_000, ["open"]),
        (paid.model, "", "0.1", "0.4", 1_047_576, []),
    ]
    rows = [dict(zip(("id", "name", "in", "out", "context", "flags"), row, strict=True)) for row in known]
    makers = ("anthropic", "google", "thedrummer", "a-maker-with-a-long-name-of-its-own")
    rows += [
        {"id": f"{maker}/lantern-{n}-{n * 7}b-instruct-with-a-long-tail", "in": f"0.{n:02}", "out": f"{n}.5"}
        for maker in makers
        for n in range(1, 90)
    ]
    ModelListing.objects.create(connection=paid, models_json=rows)


def _spend(alice: User, paid: Connection) -> Connection:
    free = make_connection(
        alice, name="Kitchen box with the old graphics card", preset="local", model="qwen3:8b", is_default=False
    )
    now = timezone.now()
    for day in range(28):
        for n in range(1 + day * 7 % 5):
            where = paid if (day + n) % 3 else free
            cost = Decimal("0.004") * (1 + day % 4) if where == paid else Decimal(0)
            refused = {"status": 429, "error_type": "rate_limit", "cost": None} if (day, n) == (3, 1) else {}
            call = make_call(alice, where, model=where.model, **{"cost": cost, **refused})
            Call.objects.for_user(alice).filter(pk=call.pk).update(started_at=now - timedelta(days=day, hours=n))
    good = found(
        "ok", "It works.", reached="0.3 s", key="accepted", answer="1.4 s", memory="2 memories in the right form",
        quote="Tom promised to look after Biscuit until the roof is tight.",
    )  # fmt: skip
    Connection.objects.for_user(alice).filter(pk=paid.pk).update(tested_at=now, test_result=good)
    bad = found("bad", "Nothing answers at 127.0.0.1:11434.", reached="connection refused")
    bad["hint"] = "Is the server running, and is it listening on this address? This is the usual port of Ollama."
    Connection.objects.for_user(alice).filter(pk=free.pk).update(tested_at=now, test_result=bad)
    return free


def add_people(admin: User) -> dict[str, Any]:
    """Others on this server, one invited, one switched off."""
    bob, name = make_person("bob"), "Konstantin Alexandrowitsch von und zu Hohenlohe-Langenburg"
    User.objects.filter(pk=bob.pk).update(display_name=name)
    away = make_person("charlie")
    User.objects.filter(pk=away.pk).update(is_active=False)
    make_grant(bob)
    make_tavern(bob, name="data/bob")
    _row, token = invitations.invite(admin, note="For Mira, who plays on the tablet")
    return {"bob": bob, "token": token}


def add_trouble(person: User) -> Tavern:
    """A folder that went away, with files that could not be read."""
    why = "The folder cannot be opened: No such file or directory."
    tavern = make_tavern(
        person, name="data/attic", state=Tavern.State.UNREACHABLE, state_reason=why, is_writable=False,
        write_problem="Everything written since waits here.", last_pass_at=timezone.now() - timedelta(hours=3),
    )  # fmt: skip
    for n in range(3):
        make_issue(tavern, f"chats/The Night Market of Unfinished Conversations/Night {n}.jsonl", line=12 + n)
    return tavern
