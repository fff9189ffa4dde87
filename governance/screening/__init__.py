"""Detectors: what a reviewer should look at twice. They flag, rules decide."""

from governance.screening.flags import (
    EXPLANATIONS,
    OVERSIZE_CHARACTERS,
    Flag,
    FlagCode,
    Texts,
    all_flags,
    codes,
    flags,
    of_code,
)

__all__ = [
    "EXPLANATIONS",
    "OVERSIZE_CHARACTERS",
    "Flag",
    "FlagCode",
    "Texts",
    "all_flags",
    "codes",
    "flags",
    "of_code",
]
