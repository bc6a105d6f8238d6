"""What the beginning of a GGUF file says about a language model. Foreign bytes: bounded, and no guess is made of them.

Layout: "GGUF", version, number of tensors, number of entries; the entries (name, type, value); name and shape of each
tensor; then the weights, which nobody reads here. All numbers are little-endian.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MOST_ENTRIES = 10_000
MOST_TENSORS = 100_000
LONGEST_TEXT = 1 << 24
LONGEST_LIST = 1 << 22
KEPT_LIST = 4096  # longer lists are vocabularies
LARGEST_HEAD = 256 << 20
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9
F16 = 2  # bytes; how llama.cpp keeps what it has read
OVERHEAD = 160 << 20  # bytes; the server itself and its buffers, as measured with the small packaged model


class NotGguf(ValueError):
    """The file is no GGUF file, or one that cannot be read to the end of its head."""


@dataclass(frozen=True)
class Facts:
    """`parameters`: weights that the model consists of. `trained_context`: tokens; 0 when the file does not say.
    `token_bytes`: memory that one token of the context window takes."""

    name: str
    architecture: str
    size: int
    parameters: int
    trained_context: int
    token_bytes: int

    def memory_for(self, context_tokens: int) -> int:
        """Bytes that the model takes at most, roughly, with this window; weights, window, and the server itself."""
        return self.size + self.token_bytes * context_tokens + OVERHEAD


def facts_of(path: Path) -> Facts:
    """Read the head of a file. Raises NotGguf, and OSError as files do."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(4) != MAGIC:
            raise NotGguf("no GGUF at the beginning")
        try:
            return _facts(_Head(file), size)
        except (struct.error, KeyError, TypeError, OverflowError) as error:
            raise NotGguf("the head does not add up") from error


class _Head:
    """Reads value after value, never further than LARGEST_HEAD."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    @property
    def position(self) -> int:
        return self._file.tell()

    def number(self, kind: int) -> Any:
        layout = "<" + _NUMBERS[kind]
        (value,) = struct.unpack(layout, self._file.read(struct.calcsize(layout)))
        return value

    def count(self, most: int) -> int:
        value: int = self.number(10)
        if value > most or self.position > LARGEST_HEAD:
            raise NotGguf("the head is too long")
        return value

    def text(self) -> str:
        length = self.count(LONGEST_TEXT)
        raw = self._file.read(length)
        if len(raw) < length:
            raise NotGguf("the file breaks off")
        return raw.decode("utf-8", "replace")

    def value(self) -> Any:
        """The next value with its type before it; None for a list that is too long to be kept."""
        kind: int = self.number(4)
        if kind == _TEXT:
            return self.text()
        return self._list() if kind == _LIST else self.number(kind)

    def _list(self) -> list[Any] | None:
        kind, length = self.number(4), self.count(LONGEST_LIST)
        if kind == _TEXT:
            for _n in range(length):
                self._skip(self.count(LONGEST_TEXT))
            return None
        if length > KEPT_LIST:
            self._skip(length * struct.calcsize("<" + _NUMBERS[kind]))
            return None
        return [self.number(kind) for _n in range(length)]

    def _skip(self, length: int) -> None:
        self._file.seek(length, 1)


def _facts(head: _Head, size: int) -> Facts:
    if head.number(4) not in VERSIONS:
        raise NotGguf("a version that is not known")
    tensors, entries = head.count(MOST_TENSORS), head.count(MOST_ENTRIES)
    found: dict[str, Any] = {}
    for _n in range(entries):
        key = head.text()
        found[key] = head.value()
    kind = found.get("general.architecture")
    if not isinstance(kind, str) or not tensors:
        raise NotGguf("no language model inside")
    name = found.get("general.name")
    shapes = [_tensor(head) for _n in range(tensors)]
    if size <= head.position + max(offset for _weights, offset in shapes):
        raise NotGguf("the file breaks off")
    return Facts(
        name=name if isinstance(name, str) else "",
        architecture=kind,
        size=size,
        parameters=sum(weights for weights, _offset in shapes),
        trained_context=_int(found.get(f"{kind}.context_length")),
        token_bytes=_token_bytes(found, kind),
    )


def _tensor(head: _Head) -> tuple[int, int]:
    """How many weights a tensor has, and where it begins behind the head."""
    head.text()
    dimensions: int = head.number(4)
    if dimensions > 8:
        raise NotGguf("a tensor of too many dimensions")
    weights = prod(head.number(10) for _n in range(dimensions))
    head.number(4)
    return weights, head.number(10)


def _token_bytes(found: dict[str, Any], kind: str) -> int:
    """Keys and values of all layers for one token; models that look back less far in some layers take less."""

    def of(name: str) -> Any:
        return found.get(f"{kind}.{name}")

    heads = max(1, _int(of("attention.head_count")))
    usual = _int(of("embedding_length")) // heads
    lengths = (_int(of("attention.key_length")) or usual) + (_int(of("attention.value_length")) or usual)
    kept = of("attention.head_count_kv")
    all_layers = sum(map(_int, kept)) if isinstance(kept, list) else _int(of("block_count")) * (_int(kept) or heads)
    return all_layers * lengths * F16


def _int(value: Any) -> int:
    """A number of the file; the largest where it gives one for each layer; 0 for anything else."""
    if isinstance(value, list):
        return max(map(_int, value), default=0)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 40 else 0
