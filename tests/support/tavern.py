"""A real SillyTavern on a copy of the fixture, for the tests in tests/tavern/."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.services import free_port, require
from tests.support.waiting import wait_until

FIXTURE = Path(__file__).parents[1] / "data/st-data"
HANDLE = "default-user"


def tavern_dir() -> Path:
    """The installed package: `CHARMEM_TAVERN_DIR`, or what `npm ci` put into tests/tavern/. Skips without it."""
    return Path(require("tavern"))


def merged(base: Any, over: Any) -> Any:
    """`over` laid on top of `base`, dictionaries key by key."""
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    return {**base, **{key: merged(base.get(key), value) for key, value in over.items()}}


@dataclass
class RunningTavern:
    """SillyTavern with its data root in a folder of the test."""

    url: str
    data_root: Path
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def user_folder(self) -> Path:
        return self.data_root / HANDLE

    def settings(self) -> dict[str, Any]:
        """settings.json as it lies on disk now."""
        return json.loads((self.user_folder / "settings.json").read_text(encoding="utf-8"))

    def registered(self, avatar: str) -> list[dict[str, Any]]:
        """The Data Bank entries of a character on disk."""
        return self.settings()["extension_settings"].get("character_attachments", {}).get(avatar, [])

    def fingerprint(self, *folders: str) -> dict[str, str]:
        """sha256 of every file in these folders of the user."""
        files = sorted(path for folder in folders for path in (self.user_folder / folder).rglob("*") if path.is_file())
        return {
            str(path.relative_to(self.user_folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
        }

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def copy_data_root(target: Path, model_url: str = "") -> Path:
    """The fixture with complete settings (the fixture keeps only what differs), pointed at a model."""
    shutil.copytree(FIXTURE, target)
    path = target / HANDLE / "settings.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    defaults = tavern_dir() / "default/content/settings.json"
    if defaults.is_file():
        settings = merged(json.loads(defaults.read_text(encoding="utf-8")), settings)
    if model_url:
        settings = merged(settings, _pointed_at(model_url))
    path.write_text(json.dumps(settings, ensure_ascii=False, indent=4), encoding="utf-8")
    return target


def _pointed_at(model_url: str) -> dict[str, Any]:
    return {
        "firstRun": False,
        "main_api": "openai",
        "power_user": {"auto_connect": True},
        "oai_settings": {
            "chat_completion_source": "custom",
            "custom_url": f"{model_url}/v1",
            "custom_model": "fake-llm",
            "stream_openai": False,
            "openai_max_context": 8000,
            "openai_max_tokens": 200,
        },
        "extension_settings": {
            "vectors": {
                "source": "vllm",
                "use_alt_endpoint": True,
                "alt_endpoint_url": model_url,
                "vllm_model": "fake-embed",
                "enabled_files": True,
                "enabled_chats": False,
                "score_threshold": -1,
            },
            "disabledExtensions": ["tts", "stable-diffusion", "translate", "caption", "expressions"],
        },
    }


def start_tavern(folder: Path, model_url: str, config: str = "", flags: tuple[str, ...] = ()) -> RunningTavern:
    """Start SillyTavern on a fresh copy of the fixture under `folder` and wait until it answers."""
    data_root = copy_data_root(folder / "data", model_url)
    (folder / "config.yaml").write_text(config or "skipContentCheck: true\n", encoding="utf-8")
    port, log = free_port(), folder / "tavern.log"
    command = ["node", "server.js", "--configPath", str(folder / "config.yaml"), "--dataRoot", str(data_root)]
    command += ["--port", str(port), "--listen", "false", "--browserLaunchEnabled", "false", *flags]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=tavern_dir(),
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "NODE_ENV": "production"},
            start_new_session=True,
        )
    tavern = RunningTavern(f"http://127.0.0.1:{port}", data_root, process, log)
    try:
        wait_until(lambda: _answers(tavern, port), seconds=180, every=0.1)
    except AssertionError:
        tavern.stop()
        raise
    return tavern


def _answers(tavern: RunningTavern, port: int) -> bool:
    if tavern.process.poll() is not None:
        raise RuntimeError(f"SillyTavern ended: {tavern.log.read_text(errors='replace')[-2000:]}")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/csrf-token")
        return connection.getresponse().status in (200, 401)
    except OSError:
        return False
    finally:
        connection.close()
