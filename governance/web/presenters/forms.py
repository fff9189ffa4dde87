"""Form fields as templates are given them. One template draws them all: ``forms/_field.html``."""

from dataclasses import dataclass
from typing import NamedTuple


class Choice(NamedTuple):
    """One option of a field."""

    value: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A labelled control, what stands in it, and what is wrong with that."""

    name: str
    label: str
    value: str = ""
    hint: str = ""
    problem: str = ""
    kind: str = "text"
    choices: tuple[Choice, ...] = ()
    """Where there are some, one of them is chosen."""
