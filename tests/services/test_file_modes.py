"""Other people with an account on the same computer read nothing of ours."""

from __future__ import annotations

from tests.support.processes import Running


def test_what_commands_write_is_for_this_user_alone(house: Running) -> None:
    house.data_dir.mkdir(mode=0o755)  # a folder that somebody made before
    password = house.data_dir.parent / "password"
    password.write_text("four words are fine", encoding="utf-8")
    for command in (["bootstrap", "--admin", "wren", "--password-file", str(password)], ["backup"]):
        done = house.command(*command)
        assert done.returncode == 0, done.stderr
    found = [path for path in house.data_dir.rglob("*") if path.is_file()]
    assert {path.suffix for path in found} >= {".sqlite3", ".zip"}
    assert [path.name for path in found if path.stat().st_mode & 0o077] == []
