"""`python -m charmem_site.serve`, which is what `manage.py serve` runs."""

from __future__ import annotations

import errno
import json
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stdout

from charmem_site.env import EnvError
from charmem_site.serve.lock import AlreadyRunning, DataFolderLock
from charmem_site.serve.options import BadBind, Options, read
from charmem_site.serve.supervisor import Supervisor

PORT_PATIENCE_SECONDS = 4.0  # parts of a killed supervisor need a moment to let go of the port


class PortTaken(Exception):
    """Somebody else listens there; the message is a finished sentence."""


def _try_bind(options: Options) -> OSError | None:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        if sys.platform != "win32":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((options.host, options.port))
        except OSError as error:
            return error
    return None


def claim_port(options: Options) -> None:
    """Make sure that the pages can listen where they should; raises PortTaken."""
    end = time.monotonic() + PORT_PATIENCE_SECONDS
    while (error := _try_bind(options)) is not None:
        if error.errno != errno.EADDRINUSE:
            raise PortTaken(f"CharMem cannot listen on {options.bind}: {error.strerror}. Change CHARMEM_BIND.")
        if time.monotonic() > end:
            raise PortTaken(f"Another program uses {options.bind}. Stop it, or set CHARMEM_BIND to another port.")
        time.sleep(0.2)


def main(arguments: Sequence[str]) -> int:
    """Run until stopped. 0 after Ctrl-C, 1 when it cannot run (one sentence says why), 2 for wrong usage."""
    try:
        options = read(arguments)
        with DataFolderLock(options.data_dir):
            claim_port(options)
            if not options.json:
                return Supervisor(options).run()
            out = sys.stdout
            with redirect_stdout(sys.stderr):
                return Supervisor(options, out).run()
    except (BadBind, EnvError) as error:
        return _refuse(str(error), 2, arguments)
    except (AlreadyRunning, PortTaken) as error:
        return _refuse(str(error), 1, arguments)
    except OSError as error:
        return _refuse(f"CharMem cannot use its data folder: {error}", 1, arguments)


def _refuse(sentence: str, code: int, arguments: Sequence[str]) -> int:
    if "--json" in arguments:
        print(json.dumps({"error": sentence}, ensure_ascii=False))
    print(sentence, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
