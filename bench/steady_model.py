"""A model server that takes exactly so long for each answer, however many are asked at once: `python -m
bench.steady_model LATENCY`. Prints its port; ends with its standard input. One thread, and a process of its own, so
that it costs those who are measured nothing."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys

BULLETS = "\n".join(
    f"- Mira has lived in Oslo for {n} years, in the third house behind the harbour." for n in range(12)
)
ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": f"<memory>\n{BULLETS}\n</memory>"},
        }
    ],
    "usage": {"prompt_tokens": 800, "completion_tokens": 220, "total_tokens": 1020},
}
BODY = json.dumps(ANSWER).encode()
BYTES = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
LENGTH = re.compile(rb"(?i)content-length: (\d+)")


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, latency: float) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = LENGTH.search(head)
            await reader.readexactly(int(length[1]) if length else 0)
            if latency:
                await asyncio.sleep(latency)
            writer.write(BYTES)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _main(latency: float) -> None:
    server = await asyncio.start_server(lambda r, w: _serve(r, w, latency), "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    os._exit(0)  # whoever is still connected goes away in the same moment


if __name__ == "__main__":
    asyncio.run(_main(float(sys.argv[1])))
