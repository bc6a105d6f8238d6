"""Vector Storage's settings, and the fields that it would send for an embedding (spec/sillytavern §3, §6).

Pure: works on the `vectors` dictionary of settings.json; a missing key has SillyTavern's default.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from sync.tavern.chunks import ChunkSettings

# source -> the setting that holds its model ("" when the source has one model only)
MODEL_SETTING = {
    "transformers": "",
    "mistral": "",
    "nomicai": "",
    "llamacpp": "",
    "ollama": "ollama_model",
    "vllm": "vllm_model",
    "openai": "openai_model",
    "togetherai": "togetherai_model",
    "cohere": "cohere_model",
    "electronhub": "electronhub_model",
    "openrouter": "openrouter_model",
    "chutes": "chutes_model",
    "nanogpt": "nanogpt_model",
    "siliconflow": "siliconflow_model",
    "workers_ai": "workers_ai_model",
    "palm": "google_model",
    "vertexai": "google_model",
}
DEFAULT_MODEL = {"ollama": "mxbai-embed-large", "workers_ai": "@cf/baai/bge-m3"}
OWN_SERVER = frozenset({"ollama", "vllm", "llamacpp"})
# Sources that also need settings of the chat connection, which are read when the index is built and not kept.
CONNECTION_SETTINGS = {
    "siliconflow": ("siliconflow_endpoint",),
    "workers_ai": ("workers_ai_account_id",),
    "vertexai": ("vertexai_auth_mode", "vertexai_region", "vertexai_express_project_id"),
}
BATCH = 5


class SourceNotPossible(ValueError):
    """The vectorization source works only inside the browser; the message is the source's name."""


def source_of(vectors: Mapping[str, Any]) -> str:
    """The vectorization source that is chosen."""
    return str(vectors.get("source") or "transformers")


def model_of(vectors: Mapping[str, Any]) -> str:
    """The embedding model that is chosen, "" when the source has no choice."""
    source = source_of(vectors)
    return str(vectors.get(MODEL_SETTING.get(source, "")) or DEFAULT_MODEL.get(source, ""))


def chunk_settings(vectors: Mapping[str, Any]) -> ChunkSettings:
    """How Data Bank files are cut."""
    return ChunkSettings(
        threshold_kb=_whole(vectors, "size_threshold_db", 5),
        chunk_size=_whole(vectors, "chunk_size_db", 2500),
        overlap_percent=_whole(vectors, "overlap_percent_db", 0),
        force_delimiter=str(vectors.get("force_chunk_delimiter") or ""),
        only_custom_boundary=bool(vectors.get("only_custom_boundary")),
    )


def request_body(
    vectors: Mapping[str, Any], server_urls: Mapping[str, Any], connection: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The fields that name source and model in every vector request. Raises SourceNotPossible."""
    source = source_of(vectors)
    if source not in MODEL_SETTING:
        raise SourceNotPossible(source)
    body: dict[str, Any] = {"source": source}
    if MODEL_SETTING[source]:
        body["model"] = model_of(vectors)
    if source in OWN_SERVER:
        is_alternative = vectors.get("use_alt_endpoint")
        body["apiUrl"] = str(vectors.get("alt_endpoint_url") if is_alternative else server_urls.get(source) or "")
    if source == "ollama":
        body["keep"] = bool(vectors.get("ollama_keep"))
    if source in {"palm", "vertexai"}:
        body["api"] = "makersuite" if source == "palm" else "vertexai"
    return {**body, **{key: (connection or {}).get(key) for key in CONNECTION_SETTINGS.get(source, ())}}


def index_key(url: str, file_hash: str, size: int, vectors: Mapping[str, Any]) -> str:
    """What an index was built for: address, text, cutting, and what embedded it. Equal keys need no new index."""
    cut = chunk_settings(vectors)
    # A file that stays whole does not care about the settings for cutting.
    how = cut if cut.size_for(size) > 0 or cut.only_custom_boundary else None
    parts = [url, file_hash, repr(how), source_of(vectors), model_of(vectors)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _whole(vectors: Mapping[str, Any], key: str, default: int) -> int:
    try:
        return int(vectors.get(key, default))
    except (TypeError, ValueError):
        return default
