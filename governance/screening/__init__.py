"""Detectors: what a reviewer should look at twice. They flag, rules decide."""

from governance.screening.flags import (
    EXPLANATIONS,
    OVERSIZE_CHARACTERS,
    Flag,
    FlagCode,
    codes,
    flags,
)

__all__ = ["EXPLANATIONS", "OVERSIZE_CHARACTERS", "Flag", "FlagCode", "codes", "flags"]
