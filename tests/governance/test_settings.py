"""Settings: each documented, each wrong one a clear stop."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from memorywire_site.environment import PROJECT, Environment
from memorywire_site.secret_files import read_or_create


def test_every_setting_is_documented_with_its_default_and_no_other_is() -> None:
    text = (PROJECT / "docs" / "settings.md").read_text()
    documented = set(re.findall(r"^\| `(MEMORYWIRE_[A-Z_]+)` \|", text, flags=re.MULTILINE))
    assert documented == {f"MEMORYWIRE_{name.upper()}" for name in Environment.model_fields}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MEMORYWIRE_PORT", "eighty"),
        ("MEMORYWIRE_PUBLIC_URL", "memory.example.org"),
        ("MEMORYWIRE_LOG_LEVEL", "chatty"),
    ],
)
def test_a_wrong_setting_stops_the_start_and_names_itself(name: str, value: str) -> None:
    start = subprocess.run(
        [sys.executable, "-c", "from memorywire_site import environment; environment.load()"],
        env=os.environ | {name: value},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert start.returncode == 1
    assert name in start.stderr
    assert "Traceback" not in start.stderr


def test_a_lost_master_key_stops_the_start_and_no_new_one_is_made(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite3").touch()
    start = subprocess.run(
        [sys.executable, "manage.py", "check"],
        env=os.environ | {"MEMORYWIRE_HOME": str(tmp_path)},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert start.returncode == 1
    assert "master.key is missing" in start.stderr
    assert not (tmp_path / "secrets" / "master.key").exists()


def test_a_secret_is_made_once_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    first = read_or_create(tmp_path / "secrets", "a.key", bytes_long=32)
    assert read_or_create(tmp_path / "secrets", "a.key", bytes_long=32) == first
    assert len(bytes.fromhex(first)) == 32
    assert (tmp_path / "secrets" / "a.key").stat().st_mode & 0o077 == 0
    assert [path.name for path in (tmp_path / "secrets").iterdir()] == ["a.key"]
