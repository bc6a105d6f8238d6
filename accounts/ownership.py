"""Owner scoping in one place: a queryset of private rows refuses to be evaluated until somebody says whose rows it is.

`Model.objects.for_user(person)` opens it for one person; `with unscoped("reason")` opens everything inside the block
(background jobs, model validation, backups). Reverse managers of a row that is already held are open, because the row
itself was reached through a scope. Subqueries are not evaluated on their own, the stranger walk covers those.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from django.conf import settings
from django.db import models

if TYPE_CHECKING:
    from accounts.models import User

_open_reason: ContextVar[str] = ContextVar("unscoped_reason", default="")
M = TypeVar("M", bound=models.Model)


class UnscopedQuery(RuntimeError):
    """A query over private rows was about to run without saying whose rows it wants."""


@contextmanager
def unscoped(reason: str) -> Iterator[None]:
    """Open all private rows inside the block; `reason` says why that is right (a few words)."""
    if not reason:
        raise ValueError("unscoped() needs a reason")
    token = _open_reason.set(reason)
    try:
        yield
    finally:
        _open_reason.reset(token)


class ScopedQuerySet(models.QuerySet[M]):
    """A queryset that must be opened before it is evaluated."""

    _scope_open: bool = False

    def for_user(self, user: User) -> Self:
        """Only the rows that belong to `user`; an anonymous visitor owns nothing."""
        path = getattr(self.model, "owner_path", "owner")
        scoped = self.filter(**{path: user.pk}) if user.is_authenticated else self.none()
        scoped._scope_open = True
        return scoped

    def _is_open(self) -> bool:
        # Django marks querysets of reverse managers with the row they start from.
        return self._scope_open or bool(_open_reason.get()) or "instance" in self._hints  # type: ignore[attr-defined]

    def _guard(self) -> None:
        if not self._is_open():
            raise UnscopedQuery(
                f"{self.model.__name__} rows are private: use .for_user(user), or unscoped('reason') in a job."
            )

    def _clone(self) -> Self:
        clone = super()._clone()  # type: ignore[misc]
        clone._scope_open = self._scope_open
        return clone

    def _fetch_all(self) -> None:
        self._guard()
        super()._fetch_all()

    def iterator(self, chunk_size: int | None = None) -> Iterator[M]:
        self._guard()
        return super().iterator(chunk_size)

    def count(self) -> int:
        self._guard()
        return super().count()

    def exists(self) -> bool:
        self._guard()
        return super().exists()

    def aggregate(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        self._guard()
        return super().aggregate(*args, **kwargs)

    def update(self, **kwargs: Any) -> int:
        self._guard()
        return super().update(**kwargs)

    def delete(self) -> tuple[int, dict[str, int]]:
        self._guard()
        return super().delete()


class ScopedModel(models.Model):
    """A private row. `owner_path` is the lookup that leads to its owner ("owner", or through a parent row)."""

    owner_path: ClassVar[str] = "owner"

    objects = ScopedQuerySet.as_manager()

    class Meta:
        abstract = True


class OwnedModel(ScopedModel):
    """A private row that names its owner itself."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")

    class Meta:
        abstract = True
