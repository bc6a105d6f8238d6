"""Connections to language models, what they offer, and the ledger of every call."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.ownership import OwnedModel, ScopedModel
from jobs.models import Job


class Connection(OwnedModel):
    """One way to reach a language model. The key is sealed (vault.py) and cleared when the address changes."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(_("name"), max_length=120)
    preset = models.CharField(max_length=40)
    base_url = models.CharField(_("address"), max_length=500, blank=True)
    key_sealed = models.TextField(blank=True)
    key_hint = models.CharField(max_length=16, blank=True)
    model = models.CharField(_("model"), max_length=200, blank=True)
    system_prompt = models.TextField(_("system prompt"), blank=True)
    extra_headers = models.JSONField(default=dict, blank=True)
    extra_body = models.JSONField(default=dict, blank=True)
    # What its servers taught us about each model (abilities.py); another address clears it.
    learned = models.JSONField(default=dict, blank=True)
    temperature = models.FloatField(null=True, blank=True, default=0.3)
    context_tokens = models.PositiveIntegerField(_("context window"), null=True, blank=True)
    max_parallel = models.PositiveIntegerField(default=8)
    price_in = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    price_out = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    bytes_per_token = models.FloatField(default=3.35)
    paused_until = models.DateTimeField(null=True, blank=True)
    # How many calls at once were left when its server last said that it is asked too often (limits.py).
    lowered_to = models.PositiveIntegerField(null=True, blank=True)
    lowered_at = models.DateTimeField(null=True, blank=True)
    # Until then others are asked before it, because it failed; why, as a sentence (fallback.py).
    down_until = models.DateTimeField(null=True, blank=True)
    down_reason = models.TextField(blank=True)
    is_default = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    tested_at = models.DateTimeField(null=True, blank=True)
    test_result = models.JSONField(default=dict, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["owner"], condition=models.Q(is_default=True), name="one_default_connection_per_person"
            ),
        )

    def __str__(self) -> str:
        return self.name


class Duty(OwnedModel):
    """What a person has a connection do: `purpose` names a row of purposes.py. At place 0 stands the one that does it
    in place of the default, behind it those that step in when it is down, in this order (fallback.py)."""

    purpose = models.CharField(max_length=20)
    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="duties")
    place = models.PositiveSmallIntegerField()
    model = models.CharField(max_length=200, blank=True)  # for a purpose with models of its own (embedding.py)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["owner", "purpose", "place"], name="one_connection_per_place"),
            models.UniqueConstraint(fields=["purpose", "connection"], name="one_place_per_connection"),
        )

    def __str__(self) -> str:
        return f"{self.purpose} {self.place}"


class Budget(models.Model):
    """What one person, or without a person the whole instance, may spend: dollars and tokens a day and a month.

    None = no limit. A warning is shown from `warn_percent` of a limit on; no call is begun that could pass one.
    """

    scope = models.CharField(max_length=64, unique=True)  # "instance", or "person:" and the person's id
    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="budget"
    )
    day_money = models.DecimalField(max_digits=12, decimal_places=4, null=True, blank=True)
    month_money = models.DecimalField(max_digits=12, decimal_places=4, null=True, blank=True)
    day_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    month_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    warn_percent = models.PositiveIntegerField(default=80)
    refuses_unpriced = models.BooleanField(default=False)  # no calls of models whose price nobody knows
    is_fixed = models.BooleanField(default=False)  # an admin set it for a person, who cannot change it
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"budget of {self.scope}"


class CallSlot(ScopedModel):
    """A ticket for one call in flight (limits.py). Without a number it waits in line; it expires when not renewed."""

    owner_path = "connection__owner"

    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="slots")
    number = models.PositiveIntegerField(null=True, blank=True)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["connection", "number"], name="one_call_per_slot"),)

    def __str__(self) -> str:
        return f"slot {self.number}"


class NetworkRule(models.Model):
    """A local network that an admin opened, for one person or (without a person) for everybody (network.py)."""

    network = models.CharField(_("network"), max_length=64)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["network", "person"], name="one_rule_per_network_and_person"),
            models.UniqueConstraint(
                fields=["network"], condition=models.Q(person=None), name="one_rule_per_network_for_all"
            ),
        )

    def __str__(self) -> str:
        return self.network


class BuiltinModel(models.Model):
    """What the built-in model is and how it runs: one row for the whole instance, set by admins (builtin.py)."""

    file_name = models.CharField(max_length=200, blank=True)  # in the models folder; "" is the one that came with us
    threads = models.PositiveSmallIntegerField(null=True, blank=True)  # None: half the cores
    context_tokens = models.PositiveIntegerField(default=4096)
    idle_seconds = models.PositiveIntegerField(default=300)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.file_name or "the packaged model"


class ModelListing(ScopedModel):
    """The models that a connection offered when it was last asked."""

    owner_path = "connection__owner"

    connection = models.OneToOneField(Connection, on_delete=models.CASCADE, related_name="listing")
    models_json = models.JSONField(default=list)
    fetched_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"models of {self.connection_id}"


# What calls are for, as the ledger stores it; which of it a person gives out is in purposes.py.
PURPOSES = {
    "extraction": _("Extraction"),
    "consolidation": _("Consolidation"),
    "conversion": _("Import"),
    "checking": _("Checking new memories"),
    "embeddings": _("Embeddings"),
    "test": _("Connection test"),
}


def purpose_name(purpose: str) -> str:
    """The stored word for what a call was for, as people read it."""
    return str(PURPOSES.get(purpose, purpose))


class Call(OwnedModel):
    """Ledger row of one model call: purpose, subject, tokens, money, time, how it ended. Never any text."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    connection = models.ForeignKey(Connection, null=True, on_delete=models.SET_NULL, related_name="calls")
    connection_name = models.CharField(max_length=120, blank=True)
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="calls")
    purpose = models.CharField(max_length=20)
    subject = models.CharField(max_length=200, blank=True)
    model = models.CharField(max_length=200, blank=True)
    started_at = models.DateTimeField(auto_now_add=True)
    seconds = models.FloatField(null=True, blank=True)
    prompt_tokens = models.PositiveIntegerField(null=True, blank=True)
    completion_tokens = models.PositiveIntegerField(null=True, blank=True)
    cached_tokens = models.PositiveIntegerField(null=True, blank=True)
    is_estimate = models.BooleanField(default=False)
    cost = models.DecimalField(max_digits=14, decimal_places=8, null=True, blank=True)
    # What the call may cost at most; counts towards budgets until the call ends (budgets.py).
    reserved = models.DecimalField(max_digits=14, decimal_places=8, null=True, blank=True)
    reserved_tokens = models.PositiveIntegerField(null=True, blank=True)
    is_automatic = models.BooleanField(default=False)  # nobody pressed a button for it
    finish_reason = models.CharField(max_length=40, blank=True)
    status = models.PositiveIntegerField(null=True, blank=True)
    error_type = models.CharField(max_length=80, blank=True)
    retries = models.PositiveIntegerField(default=0)

    class Meta:
        indexes = (
            models.Index(fields=["owner", "-started_at"]),
            models.Index(fields=["started_at"], name="call_started"),
        )

    def __str__(self) -> str:
        return f"{self.purpose} call {self.id}"

    @property
    def purpose_name(self) -> str:
        """What the call was for, in words."""
        return purpose_name(self.purpose)
