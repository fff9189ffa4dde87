"""Every detector over one text: pure."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from governance.screening import codepoints, look_alikes, secrets
from governance.screening.codepoints import Mark

OVERSIZE_CHARACTERS = 10_000
"""Longer than a person can be expected to read before deciding."""


class FlagCode(StrEnum):
    """What a detector found. Stable: rules name it."""

    HIDDEN_TEXT = "hidden_text"
    LOOK_ALIKE = "look_alike"
    SECRET = "secret"  # noqa: S105  # what was found, not one
    OVERSIZE = "oversize"


#: What each flag means, to follow on "a text".
EXPLANATIONS = {
    FlagCode.HIDDEN_TEXT: "with hidden or misleading characters",
    FlagCode.LOOK_ALIKE: "with letters that pass for those of another script",
    FlagCode.SECRET: "that holds a password, key or token",
    FlagCode.OVERSIZE: f"longer than {OVERSIZE_CHARACTERS} characters",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One finding: where in the text, and why in plain words."""

    code: FlagCode
    span: tuple[int, int]
    reason: str
    quote: str = ""
    """What it spells or holds: text from outside."""


class Texts(Protocol):
    """What is screened of a memory, stored or asked for."""

    @property
    def content(self) -> str: ...
    @property
    def source(self) -> str | None: ...
    @property
    def metadata(self) -> Mapping[str, Any]: ...


def flags(text: str) -> tuple[Flag, ...]:
    """What the detectors find in a text: one detector after the other, each in the text's order."""
    return (*_oversize(text), *_unlike_what_is_seen(text), *_secrets(text))


def all_flags(memory: Texts) -> tuple[Flag, ...]:
    """What the detectors find in a memory: in its text, its source and its metadata."""
    metadata = json.dumps(memory.metadata, ensure_ascii=False) if memory.metadata else ""
    texts = (memory.content, memory.source or "", metadata)
    return tuple(flag for text in texts for flag in flags(text))


def of_code(found: Iterable[Flag], code: FlagCode) -> tuple[Flag, ...]:
    """Those of one detector."""
    return tuple(flag for flag in found if flag.code is code)


def codes(memory: Texts) -> frozenset[str]:
    """Which detectors find something in a memory."""
    return frozenset(flag.code.value for flag in all_flags(memory))


def _oversize(text: str) -> Iterator[Flag]:
    if len(text) > OVERSIZE_CHARACTERS:
        reason = f"{len(text)} characters, more than {OVERSIZE_CHARACTERS}."
        yield Flag(code=FlagCode.OVERSIZE, span=(OVERSIZE_CHARACTERS, len(text)), reason=reason)


def _unlike_what_is_seen(text: str) -> Iterator[Flag]:
    start = 0
    for run in codepoints.split(text):
        raw = run.raw if isinstance(run, Mark) else run
        if isinstance(run, Mark):
            span = (start, start + len(raw))
            if run.is_hidden:
                yield Flag(
                    code=FlagCode.HIDDEN_TEXT,
                    span=span,
                    reason=_hidden_reason(run),
                    quote=run.spells,
                )
            else:
                yield Flag(code=FlagCode.LOOK_ALIKE, span=span, reason=_look_alike_reason(run))
        start += len(raw)


def _hidden_reason(mark: Mark) -> str:
    return f"{mark.label}: a model reads it, a person does not see it."


def _look_alike_reason(mark: Mark) -> str:
    twin = look_alikes.looks_like(mark.raw[0])
    passes_for = f"“{twin}”" if twin else "a letter of the script around it"
    return f"{mark.label}: drawn like {passes_for}, and another letter to a machine."


def _secrets(text: str) -> Iterator[Flag]:
    for secret in secrets.find(text):
        reason = f"{secret.kind}: whoever recalls this memory could use it."
        span = (secret.start, secret.end)
        yield Flag(code=FlagCode.SECRET, span=span, reason=reason, quote=text[slice(*span)])
