"""Messages as files in a folder: kombu's transport, made safe for several processes at once.

kombu writes a message into the file that readers already see. A reader that was quicker found it empty and its worker
died of it. Here a message gets its name when it is complete, and what cannot be read is dropped: the Job row knows.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from queue import Empty
from time import monotonic
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.encoding import str_to_bytes
from kombu.utils.json import dumps

SCHEME = "folder"
TRANSPORT_ALIASES[SCHEME] = "charmem_site.folder_broker:Transport"


class Channel(filesystem.Channel):
    """Puts complete files, and outlives damaged ones."""

    def _put(self, queue: str, payload: dict[str, Any], **options: Any) -> None:  # type: ignore[override]
        name = f"{round(monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        target = Path(self.data_folder_out) / name
        partial = target.with_name(f"{name}.part")
        partial.write_bytes(str_to_bytes(dumps(payload)))
        partial.replace(target)

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        try:
            return super()._get(queue)
        except ValueError:
            raise Empty from None

    def _queue_bind(self, exchange: str, *binding: Any) -> None:
        """A table that was cut off by a kill is made anew, from what each process binds when it starts."""
        try:
            super()._queue_bind(exchange, *binding)
        except ValueError:
            self._exchange_file(exchange).unlink(missing_ok=True)
            super()._queue_bind(exchange, *binding)


class Transport(filesystem.Transport):
    """`folder://`"""

    Channel = Channel
