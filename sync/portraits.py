"""Small pictures of characters: re-encoded by the worker, never the card's own bytes (stack-notes §9.13)."""

from __future__ import annotations

import hashlib
import io
import warnings
from contextlib import suppress
from pathlib import Path
from uuid import UUID, uuid4

from django.conf import settings
from PIL import Image

from sync.models import Character

MOST_PIXELS = 24_000_000
SIZE = (240, 360)
HUES = 12


def portrait_path(character_id: UUID, digest: str) -> Path:
    """Where the small picture of a character stands; the digest makes an old one stale."""
    return Path(settings.DATA_DIR) / "portraits" / f"{character_id}-{digest[:16]}.webp"


def make_portrait(character_id: UUID, digest: str, data: bytes) -> bool:
    """Write the small picture; False when the card's picture cannot be used."""
    try:
        small = _small(data)
    except Exception:  # noqa: BLE001  decoders fail in many ways; a character without a face is still a character
        return False
    path = portrait_path(character_id, digest)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid4().hex}.tmp")
    temporary.write_bytes(small)
    temporary.replace(path)
    for old in portraits_of(character_id):
        if old != path:
            with suppress(OSError):
                old.unlink()
    return True


def portraits_of(character_id: UUID) -> list[Path]:
    """All small pictures that were ever made of a character and still lie there."""
    return list((Path(settings.DATA_DIR) / "portraits").glob(f"{character_id}-*.webp"))


def initials_svg(character: Character) -> str:
    """A calm field with a name's first letters, for a character without a picture."""
    letters = "".join(word[0] for word in character.name.split()[:2] if word[0].isalnum()).upper() or "·"
    hue = int(hashlib.sha256(str(character.pk).encode()).hexdigest(), 16) % HUES * (360 // HUES)
    size = 150 if len(letters) == 1 else 112  # legible where the picture is a face of 20 px
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 360" width="240" height="360">'
        f'<rect width="240" height="360" fill="hsl({hue} 28% 38%)"/>'
        f'<text x="120" y="{168 + size // 3}" text-anchor="middle" font-family="system-ui, sans-serif" '
        f'font-size="{size}" font-weight="500" fill="hsl({hue} 40% 90%)">{_escape(letters)}</text></svg>'
    )


def _small(data: bytes) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        with Image.open(io.BytesIO(data), formats=("PNG", "WEBP", "JPEG")) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise ValueError("too many pixels")
            picture.thumbnail((SIZE[0] * 2, SIZE[1] * 2))
            out = io.BytesIO()
            picture.convert("RGB").save(out, "WEBP", quality=82)
            return out.getvalue()


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
