"""The rules of the house that no linter knows: arrows in relations and addresses, pure modules, sizes, tidy text."""

from __future__ import annotations

import ast
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from django.apps import apps

ROOT = Path(__file__).resolve().parents[2]
# Each room may know those below it. Rooms on one floor (memories and compaction) do not know each other.
FLOORS = [
    {"charmem_site"},
    {"companion"},
    {"memories", "compaction"},
    {"sync"},
    {"providers", "search"},
    {"jobs"},
    {"accounts"},
]
ROOMS = {room: number for number, floor in enumerate(FLOORS) for room in floor}
PURE = [
    "jobs/events.py",
    "jobs/redaction.py",
    "jobs/registry.py",
    "memories/answer.py",
    "memories/automatic_rules.py",
    "memories/blocks.py",
    "memories/charmemory_state.py",
    "memories/chat_map.py",
    "memories/choices.py",
    "memories/conservation.py",
    "memories/consolidation_answer.py",
    "memories/consolidation_plan.py",
    "memories/consolidation_prompt.py",
    "memories/cues.py",
    "memories/date_span.py",
    "memories/draft_overlay.py",
    "memories/evidence.py",
    "memories/export_names.py",
    "memories/extraction_prompt.py",
    "memories/file_names.py",
    "memories/find_mark.py",
    "memories/find_replace.py",
    "memories/formats.py",
    "memories/formats_json.py",
    "memories/formats_lines.py",
    "memories/formats_lorebook.py",
    "memories/formats_names.py",
    "memories/formats_outline.py",
    "memories/formats_tables.py",
    "memories/formats_tags.py",
    "memories/formats_text.py",
    "memories/formats_types.py",
    "memories/grounding.py",
    "memories/grouping.py",
    "memories/importing_export_merge.py",
    "memories/importing_export_read.py",
    "memories/known_choice.py",
    "memories/lineage.py",
    "memories/markup.py",
    "memories/meaning_pairs.py",
    "memories/meaning_space.py",
    "memories/member_rules.py",
    "memories/merge.py",
    "memories/names.py",
    "memories/orders.py",
    "memories/outside_merge.py",
    "memories/pairs.py",
    "memories/plain_text.py",
    "memories/presence.py",
    "memories/price.py",
    "memories/prompt_check.py",
    "memories/prompt_merge.py",
    "memories/quality.py",
    "memories/quality_actors.py",
    "memories/quality_features.py",
    "memories/quality_form.py",
    "memories/quality_index.py",
    "memories/quality_languages.py",
    "memories/quality_model.py",
    "memories/quality_names.py",
    "memories/quality_numbers.py",
    "memories/quality_said.py",
    "memories/quality_sources.py",
    "memories/quality_text.py",
    "memories/quality_weights.py",
    "memories/quote_eraser.py",
    "memories/quote_mark.py",
    "memories/reading.py",
    "memories/reading_keys.py",
    "memories/scope_branches.py",
    "memories/scope_state.py",
    "memories/similarity.py",
    "memories/story_dates.py",
    "memories/superseding.py",
    "memories/templating.py",
    "memories/timeline_chart.py",
    "memories/together_answer.py",
    "memories/together_prompt.py",
    "memories/transcript.py",
    "memories/two_texts.py",
    "memories/wanted.py",
    "memories/word_diff.py",
    "providers/abilities.py",
    "providers/base.py",
    "providers/extra_body.py",
    "providers/listed_prices.py",
    "providers/model_advice.py",
    "providers/pauses.py",
    "providers/periods.py",
    "providers/quoting.py",
    "providers/reasoning.py",
    "providers/stream_forms.py",
    "providers/tokens.py",
    "search/query.py",
    "search/rank.py",
    "search/registry.py",
    "search/scope.py",
    "search/snippets.py",
    "search/tokens.py",
]
IMPURE_TAVERN = {"server.py"}
UNCLEAN = {"django", "httpx", "celery"}
CELERY_FILES = {"charmem_site/celery.py", "jobs/tasks.py", "charmem_site/management/commands/worker.py"}
HTTPX_FILES = {"providers/transport.py", "bench/bench_calls.py", "bench/calling.py"}  # benches compare with it
LONGEST_FILE = 400
MARKS = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
MACHINE = re.compile(
    r"(?<![\w.])/(wo" + r"rk|ro" + r"ot|opt/pypi|tmp/st-install)\b|registry\.np" + r"mjs|pypi\.o" + r"rg"
)
OTHER_PEOPLES = ("tests/data/", "static/vendor/", "sync/sample_story/")
SKIPPED_FOLDERS = {".venv", ".git", "node_modules", "data", "build", "__pycache__", "migrations", "locale"}


def _is_ours(folder: str) -> bool:
    return folder not in SKIPPED_FOLDERS and (not folder.startswith(".") or folder == ".ci")


@cache
def _all_files() -> list[Path]:
    """The project's own files."""
    found = []
    for folder, below, names in os.walk(ROOT):
        below[:] = sorted(name for name in below if _is_ours(name))
        found += [Path(folder) / name for name in sorted(names)]
    return [path for path in found if not _name(path).startswith(OTHER_PEOPLES)]


def _files(*suffixes: str) -> Iterator[Path]:
    """The project's own files with these endings."""
    return (path for path in _all_files() if path.suffix in suffixes)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _may_know(room: str, other: str) -> bool:
    return room == other or ROOMS[room] < ROOMS[other]


def _room_of_template(path: Path) -> str:
    """Templates of a room lie in its folder; all others, with the frame and the components, belong to charmem_site."""
    folder = path.relative_to(ROOT).parts[-2]
    return folder if folder in ROOMS else "charmem_site"


def _imports(path: Path) -> set[str]:
    """Dotted names that a file imports when it runs; imports for the type checker alone are left out."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def _own_module(name: str) -> Path | None:
    """The file of a dotted name when it is one of ours."""
    path = ROOT / name.replace(".", "/")
    if path.with_suffix(".py").is_file():
        return path.with_suffix(".py")
    return path / "__init__.py" if (path / "__init__.py").is_file() else None


def _reach(path: Path, seen: set[Path]) -> set[str]:
    """First names of all packages that importing a file brings in through our own modules."""
    if path in seen:
        return set()
    seen.add(path)
    reached = set()
    for name in _imports(path):
        own = _own_module(name)
        reached |= _reach(own, seen) if own else {name.partition(".")[0]}
    return reached


def _pure_files() -> list[str]:
    tavern = (ROOT / "sync" / "tavern").glob("*.py")
    return PURE + sorted(_name(path) for path in tavern if path.name not in IMPURE_TAVERN)


def test_relations_point_down() -> None:
    wrong = [
        f"{model._meta.label}.{field.name} → {field.related_model._meta.label}"
        for model in apps.get_models()
        if model._meta.app_label in ROOMS
        for field in model._meta.get_fields()
        if field.is_relation and field.concrete and field.related_model._meta.app_label in ROOMS
        if not _may_know(model._meta.app_label, field.related_model._meta.app_label)
    ]
    assert wrong == []


def test_addresses_in_templates_point_down() -> None:
    wrong = [
        f"{_name(path)}: {room}"
        for path in _files(".html")
        for room in re.findall(r"{%\s*url\s+[\"'](\w+):", path.read_text("utf-8"))
        if not _may_know(_room_of_template(path), room)
    ]
    assert wrong == []


def test_templates_borrow_only_from_below_and_from_the_frame() -> None:
    wrong = [
        f"{_name(path)}: {room}"
        for path in _files(".html")
        for room in re.findall(r"{%\s*(?:include|extends)\s+[\"'](\w+)/", path.read_text("utf-8"))
        if room in ROOMS and not _may_know(_room_of_template(path), room)
    ]
    assert wrong == []


def test_addresses_in_code_point_down() -> None:
    wrong = [
        f"{_name(path)}: {room}"
        for path in _files(".py")
        if (own := path.relative_to(ROOT).parts[0]) in ROOMS
        for room in re.findall(r"\b(?:reverse|reverse_lazy|redirect)\(\s*[\"'](\w+):", path.read_text("utf-8"))
        if not _may_know(own, room)
    ]
    assert wrong == []


@pytest.mark.parametrize("name", _pure_files())
def test_pure_modules_know_neither_django_nor_network_nor_queue(name: str) -> None:
    assert _reach(ROOT / name, set()) & UNCLEAN == set()


def test_the_map_of_the_field_names_every_module_and_no_other() -> None:
    text = ast.get_docstring(ast.parse((ROOT / "memories" / "__init__.py").read_text("utf-8"))) or ""
    named = re.findall(r"`([\w*/]+)`", text.partition("\n* ")[2])
    entries = [path for path in (ROOT / "memories").iterdir() if path.name not in SKIPPED_FOLDERS | {"__init__.py"}]
    there = {f"{path.name}/" if path.is_dir() else path.stem for path in entries}
    assert [one for one in there if not any(fnmatch(one, pattern) for pattern in named)] == []
    assert [pattern for pattern in named if not any(fnmatch(one, pattern) for one in there)] == []


def test_pure_modules_are_typed_strictly() -> None:
    overrides = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]["overrides"]
    strict = next(one["module"] for one in overrides if one.get("warn_return_any"))
    modules = [name.removesuffix(".py").replace("/", ".") for name in _pure_files()]
    assert [one for one in modules if not any(fnmatch(one, pattern) for pattern in strict)] == []


@pytest.mark.parametrize(("package", "allowed"), [("celery", CELERY_FILES), ("httpx", HTTPX_FILES)])
def test_heavy_packages_are_imported_in_their_own_files_only(package: str, allowed: set[str]) -> None:
    importers = {
        _name(path)
        for path in _files(".py")
        if not _name(path).startswith("tests/") and package in {name.partition(".")[0] for name in _imports(path)}
    }
    assert importers <= allowed


def test_no_file_is_longer_than_the_alarm() -> None:
    long = [
        f"{_name(path)}: {lines}"
        for path in _files(".py", ".js", ".css", ".html")
        if not _name(path).startswith("tests/")
        if (lines := path.read_text("utf-8").count("\n")) > LONGEST_FILE
    ]
    assert long == []


def test_nothing_is_left_to_be_done_later_and_no_machine_is_named() -> None:
    named = [
        f"{_name(path)}:{number}: {line.strip()[:80]}"
        for path in _files(".py", ".js", ".css", ".html", ".md", ".toml", ".yml", ".lock", ".json", ".sh", "")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if MARKS.search(line) or MACHINE.search(line)
    ]
    assert named == []


def test_pages_carry_no_inline_script_or_style() -> None:
    inline = re.compile(r"<script(?![^>]*\bsrc=)[^>]*>|<style|\sstyle=|\shx-on|\son[a-z]+=", re.IGNORECASE)
    data_block = re.compile(r"<script[^>]*type=\"(application/json|text/x-template)\"", re.IGNORECASE)
    wrong = [
        f"{_name(path)}: {found.group().strip()}"
        for path in _files(".html")
        for found in inline.finditer(path.read_text("utf-8"))
        if not data_block.match(found.group())
    ]
    assert wrong == []


def _locked(name: str) -> dict[str, str]:
    """Package name → its block in a lock file."""
    blocks = re.split(r"\n(?=\S)", (ROOT / name).read_text("utf-8"))
    return {block.split("==")[0]: block for block in blocks if "==" in block}


def test_whatever_the_product_imports_is_locked() -> None:
    optional = set(_locked("model.lock"))
    locked = set(_locked("requirements.lock")) | optional
    providers = packages_distributions()
    imported = {
        name.partition(".")[0]
        for path in _files(".py")
        if path.relative_to(ROOT).parts[0] in ROOMS
        for name in _imports(path)
        if _own_module(name.partition(".")[0]) is None
    }
    missing = [
        name
        for name in sorted(imported - sys.stdlib_module_names)
        if not {dist.lower().replace("_", "-") for dist in providers.get(name, [name])} & locked
    ]
    assert missing == []


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-test.lock", "model.lock"])
def test_every_locked_package_has_hashes_and_nothing_else_is_asked_for(name: str) -> None:
    for package, block in _locked(name).items():
        assert "--hash=sha256:" in block, package
    assert not re.search(r"^\s*-(?!-hash=)", (ROOT / name).read_text("utf-8"), re.MULTILINE)
