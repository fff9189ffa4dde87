"""Writing the log out: every row that meets a filter, oldest first, in chunks, as JSONL or CSV.

A chunk is a read of its own, so an export of any size holds neither a transaction nor the log in
memory. Rows never change, so it is whole all the same: everything up to the row it ends at.
"""

import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from governance import execution
from governance.audit.read import Filter, chunk_after, words
from governance.models import AuditRow

CHUNK_ROWS = 1_000
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_COLUMNS = (
    "sequence", "at", "at_ms", "action", "actor_kind", "actor_id", "actor_label", "request_id",
    "agent_id", "operation_id", "review_id", "memory_id", "memory_version", "state_digest",
    "facts", "words", "commitment", "previous_mac", "mac",
)  # fmt: skip


async def as_jsonl(workspace_id: str, asked: Filter, *, until: int) -> AsyncIterator[str]:
    """One JSON object a line; times, words and facts as the log has them."""
    async for part in _chunks(_jsonl, workspace_id, asked, until):
        yield part


async def as_csv(workspace_id: str, asked: Filter, *, until: int) -> AsyncIterator[str]:
    """RFC 4180 with a head line. No cell can start a formula where a spreadsheet opens it."""
    yield _csv_lines([_COLUMNS])
    async for part in _chunks(_csv, workspace_id, asked, until):
        yield part


async def _chunks(
    write: Callable[[Iterable[dict[str, Any]]], str], workspace_id: str, asked: Filter, until: int
) -> AsyncIterator[str]:
    place = 0
    while chunk := await execution.read(_chunk, write, workspace_id, asked, place, until):
        text, place = chunk
        yield text


def _chunk(
    write: Callable[[Iterable[dict[str, Any]]], str],
    workspace_id: str,
    asked: Filter,
    place: int,
    until: int,
) -> tuple[str, int] | None:
    """The text of the next rows, and where they end; None after the last."""
    rows = chunk_after(workspace_id, place, until=until, limit=CHUNK_ROWS, asked=asked)
    return (write(map(_entry, rows)), rows[-1].sequence) if rows else None


def _entry(row: AuditRow) -> dict[str, Any]:
    at = datetime.fromtimestamp(row.at_ms / 1000, tz=UTC)
    made = {"at": at.isoformat(timespec="milliseconds"), "words": words(row)}
    return {name: made[name] if name in made else getattr(row, name) for name in _COLUMNS}


def _jsonl(entries: Iterable[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in entries)


def _csv(entries: Iterable[dict[str, Any]]) -> str:
    return _csv_lines([_cell(value) for value in entry.values()] for entry in entries)


def _csv_lines(lines: Iterable[Iterable[str]]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows(lines)
    return out.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
