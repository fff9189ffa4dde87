"""How the log is written: JSON for machines, lines for people. Never content, whoever logs.

Other libraries quote what they were sent: in messages, in exceptions, in a frame's local values.
So a message about a request says only its status, an exception keeps its traceback but neither
local values nor, unless it is known to hold none of a caller's words, its message.
"""

import logging
import sys
import traceback
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Literal

import structlog
from django.db import DatabaseError

from stores.errors import EmbedderMismatch

Format = Literal["json", "line"]

#: Facts that may accompany a message; others are dropped, however they came to be there.
FACTS = ("method", "route", "status", "duration_ms", "key", "user")

#: Loggers that would say too much below these levels.
_FLOORS = {
    "celery": "WARNING",  # every task received and done
    "django.db.backends": "INFO",  # every statement with its values
    "uvicorn": "INFO",  # every header of a socket's first request, cookies included
    "uvicorn.access": "CRITICAL",  # every address with its query
}

#: Exceptions whose messages speak of files, tables and models.
_PLAIN = (OSError, DatabaseError, EmbedderMismatch, ImportError)


def configuration(*, level: str, format: Format | None) -> dict[str, Any]:  # noqa: A002
    """For ``logging.config``. ``format`` None: lines on a terminal, JSON elsewhere."""
    is_terminal = sys.stderr.isatty()
    as_lines = format == "line" or (format is None and is_terminal)
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"without_quotes": {"()": WithoutQuotes}},
        "formatters": {
            "chosen": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": [
                    structlog.contextvars.merge_contextvars,
                    structlog.stdlib.add_logger_name,
                    structlog.stdlib.add_log_level,
                    structlog.stdlib.ExtraAdder(allow=FACTS),
                    structlog.processors.TimeStamper(fmt="iso", utc=True),
                    _with_traceback,
                ],
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.dev.ConsoleRenderer(colors=is_terminal)
                    if as_lines
                    else structlog.processors.JSONRenderer(),
                ],
            }
        },
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "chosen",
                "filters": ["without_quotes"],
            }
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            name: {"level": max(level, floor, key=logging.getLevelNamesMapping().__getitem__)}
            for name, floor in _FLOORS.items()
        },
    }


class WithoutQuotes(logging.Filter):
    """Takes out of other libraries' messages what callers sent."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.msg, str) and '"WebSocket %s"' in record.msg:
            return False  # quotes the address with its query
        if hasattr(record, "request"):  # Django's: a path, a host, a reason
            record.msg, record.args = f"answered {getattr(record, 'status_code', '')}", None
        elif record.name == "asyncio":  # the first line says what happened, the others to what
            record.msg, record.args = record.getMessage().partition("\n")[0], None
        elif isinstance(record.args, Mapping) and "exc" in record.args:  # Celery's
            record.args = {**record.args, "exc": "(below)", "traceback": ""}
        return True


def _with_traceback(
    logger: object, name: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Replaces the exception by text."""
    info = event.pop("exc_info", None)
    error = info[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException):
        event["exception"] = "\n".join(_told(error))
    return event


def _told(error: BaseException) -> Iterator[str]:
    """What led to an exception, the cause first: types and places."""
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        yield from _told(before)
        yield "which led to"
    for inner in getattr(error, "exceptions", ()):  # of a group
        yield from _told(inner)
    yield from (line.rstrip() for line in traceback.format_tb(error.__traceback__))
    kind = type(error)
    message = str(error) if isinstance(error, _PLAIN) else "(message withheld)"
    yield f"{kind.__module__}.{kind.__qualname__}: {message}"
