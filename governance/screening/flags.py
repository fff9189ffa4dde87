"""Every detector over one text: pure.

A detector for secrets is not here: it needs a maintained set of token shapes, and none is
installed.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from governance.screening import codepoints
from governance.screening.codepoints import Mark
from stores.wire import MemoryRecord

OVERSIZE_CHARACTERS = 10_000
"""Longer than a person can be expected to read before deciding."""


class FlagCode(StrEnum):
    """What a detector found. Stable: rules name it."""

    HIDDEN_TEXT = "hidden_text"
    OVERSIZE = "oversize"


#: What each flag means, to follow on "a text".
EXPLANATIONS = {
    FlagCode.HIDDEN_TEXT: "with hidden or misleading characters",
    FlagCode.OVERSIZE: f"longer than {OVERSIZE_CHARACTERS} characters",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One finding: where in the text, and why in plain words."""

    code: FlagCode
    span: tuple[int, int]
    reason: str


def flags(text: str) -> tuple[Flag, ...]:
    """What the detectors find in a text, in its order."""
    return (*_oversize(text), *_hidden(text))


def codes(memory: MemoryRecord) -> frozenset[str]:
    """What the detectors find in a memory: in its text, its source and its metadata."""
    metadata = json.dumps(memory.metadata, ensure_ascii=False) if memory.metadata else ""
    texts = (memory.content, memory.source or "", metadata)
    return frozenset(flag.code.value for text in texts for flag in flags(text))


def _oversize(text: str) -> Iterator[Flag]:
    if len(text) > OVERSIZE_CHARACTERS:
        reason = f"{len(text)} characters, more than {OVERSIZE_CHARACTERS}."
        yield Flag(code=FlagCode.OVERSIZE, span=(OVERSIZE_CHARACTERS, len(text)), reason=reason)


def _hidden(text: str) -> Iterator[Flag]:
    start = 0
    for run in codepoints.split(text):
        raw = run.raw if isinstance(run, Mark) else run
        if isinstance(run, Mark):
            span = (start, start + len(raw))
            yield Flag(code=FlagCode.HIDDEN_TEXT, span=span, reason=_hidden_reason(run))
        start += len(raw)


def _hidden_reason(mark: Mark) -> str:
    spells = f" They spell “{mark.spells}”." if mark.spells else ""
    return f"{mark.label}: a model reads it, a person does not see it.{spells}"
