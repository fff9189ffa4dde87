"""The wheel alone, far from the source tree and in an environment of its own: it serves."""

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import httpx
import pytest

from benchmarks.local_server import ROOT, Program, installed, serving

#: What setuptools needs of the source tree; a copy keeps earlier builds out of the wheel.
SOURCES = ("governance", "memorywire_site", "stores", "templates", "static")
FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")


def run(*arguments: str | Path) -> None:
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, source)
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    run(*pip, "--wheel-dir", target, source)
    (built,) = target.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The installed console script. The dependencies are those of the environment that tests."""
    venv = tmp_path_factory.mktemp("venv")
    run(sys.executable, "-m", "venv", "--without-pip", venv)
    python = venv / "bin" / "python"
    (packages,) = venv.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel)
    empty = tmp_path_factory.mktemp("empty")
    return Program(arguments=(str(venv / "bin" / "memorywire"),), folder=empty)


def test_the_wheel_carries_every_template_static_file_and_schema(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("templates", "static"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file():
                assert f"memorywire_site/{path.relative_to(ROOT)}" in names
    schemas = ROOT / "stores" / "wire" / "schemas"
    assert {str(path.relative_to(ROOT)) for path in schemas.rglob("*.json")} <= names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/"))]


def test_installed_it_sets_up_and_serves_pages_and_files_from_an_empty_folder(
    program: Program,
) -> None:
    with installed(program=program) as server, serving(server):
        login = httpx.get(f"{server.address}/login")
        assert login.status_code == 200
        assert "Log in" in login.text
        assert httpx.get(f"{server.address}/static/memorywire/app.css").status_code == 200
        assert httpx.get(f"{server.address}/schemas/v0/common.json").status_code == 200
    assert list(program.folder.iterdir()) == []
