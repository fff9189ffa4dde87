"""The archive's format: what may be in it, and that it is what it was."""

import hashlib
import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal

from pydantic import AwareDatetime, BaseModel, ValidationError

LEDGER = "ledger.sqlite3"
MASTER_KEY = "secrets/master.key"
MANIFEST = "manifest.json"
MANIFEST_MAX_BYTES = 1_000_000

_CHUNK_BYTES = 1 << 20
# No way to another folder, no hidden file, nothing a shell would trip over.
_MEMBER = re.compile(r"ledger\.sqlite3|secrets/[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


class ArchiveRefused(Exception):
    """The archive is damaged, incomplete or not one of ours. Says why."""


class Member(BaseModel):
    """What a file must be when it is unpacked."""

    bytes: int
    sha256: str


class Manifest(BaseModel):
    """The archive's first member: when and by what it was made, and what is in it."""

    format: Literal[1] = 1
    taken_at: AwareDatetime
    """Everything acknowledged before this moment is in the archive."""
    version: str
    python: str
    django: str
    sqlite: str
    migrations: list[str]
    """Applied to the ledger, as ``app.name``."""
    embedders: list[str]
    """Models the ledger holds vectors of."""
    members: dict[str, Member]


def may_hold(name: str) -> bool:
    """Whether a member may be called this."""
    return _MEMBER.fullmatch(name) is not None


def describe(folder: Path) -> dict[str, Member]:
    """The members that a folder laid out like the archive would give."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): _measure(path) for path in files}


def write(target: IO[bytes], manifest: Manifest, folder: Path) -> None:
    """Stream the archive of a folder that nobody changes meanwhile."""
    with tarfile.open(fileobj=target, mode="w|") as tar:
        described = folder / MANIFEST
        described.write_text(manifest.model_dump_json(indent=1))
        for name in (MANIFEST, *manifest.members):
            tar.add(folder / name, arcname=name, recursive=False, filter=_owner_only)


def unpack(source: IO[bytes], folder: Path) -> Manifest:
    """Stream an archive into an empty folder, each file checked against the manifest.

    Raises: ArchiveRefused; the folder then holds what was unpacked so far.
    """
    try:
        with tarfile.open(fileobj=source, mode="r|") as tar:
            return _unpack(tar, folder)
    except (tarfile.TarError, EOFError) as error:
        raise ArchiveRefused(f"It is no whole tar archive: {error}.") from error


def _unpack(tar: tarfile.TarFile, folder: Path) -> Manifest:
    members = iter(tar)
    manifest = _read_manifest(tar, members)
    missing = dict(manifest.members)
    for info in members:
        expected = missing.pop(info.name, None)
        if expected is None or not may_hold(info.name) or not info.isreg():
            raise ArchiveRefused(f"It holds something that should not be there: {info.name!r}.")
        _extract(tar, info, folder / info.name)
        if _measure(folder / info.name) != expected:
            raise ArchiveRefused(f"{info.name} is damaged.")
    if missing:
        raise ArchiveRefused(f"It lacks {', '.join(missing)}.")
    return manifest


def _read_manifest(tar: tarfile.TarFile, members: Iterator[tarfile.TarInfo]) -> Manifest:
    first = next(members, None)
    content = None if first is None else tar.extractfile(first)
    if first is None or first.name != MANIFEST or content is None:
        raise ArchiveRefused("It does not begin with a manifest: it is no backup of ours.")
    try:
        manifest = Manifest.model_validate_json(content.read(MANIFEST_MAX_BYTES))
    except ValidationError as error:
        raise ArchiveRefused("Its manifest cannot be read, or is of another version.") from error
    if not {LEDGER, MASTER_KEY} <= manifest.members.keys():
        raise ArchiveRefused("Its manifest names no ledger, or no master key.")
    return manifest


def _extract(tar: tarfile.TarFile, info: tarfile.TarInfo, target: Path) -> None:
    target.parent.mkdir(mode=0o700, exist_ok=True)
    content = tar.extractfile(info)
    with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        while content is not None and (chunk := content.read(_CHUNK_BYTES)):
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())


def _measure(path: Path) -> Member:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Member(bytes=path.stat().st_size, sha256=digest)


def _owner_only(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.mode, info.uid, info.gid, info.uname, info.gname = 0o600, 0, 0, "", ""
    return info
