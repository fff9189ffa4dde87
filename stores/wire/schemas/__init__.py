"""The JSON Schemas (draft 2020-12) of what travels, for readers outside this code base.

They say what the models in ``stores.wire`` say, but for what JSON Schema cannot express: sizes in
bytes, characters no store can keep, names that pass for others, and that 5.0 is not an integer on
this wire.
"""

import json
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

#: What every ``$id`` begins with; the rest is the schema's name.
BASE = "https://memorywire.dev/schemas/v0/"


@cache
def names() -> tuple[str, ...]:
    """Every schema's name, such as ``operations/remember.response`` or ``types/episodic``."""
    return tuple(sorted(_found()))


def load(name: str) -> dict[str, Any]:
    """A fresh copy of the schema of that name.

    Raises: KeyError if there is none.
    """
    schema: dict[str, Any] = json.loads(_found()[name].read_text(encoding="utf-8"))
    return schema


@cache
def validator(name: str) -> Draft202012Validator:
    """A validator for one schema, with references to the others resolved from the package.

    Raises: KeyError if there is no schema of that name.
    """
    return Draft202012Validator(load(name), registry=_registry())


@cache
def _found() -> dict[str, Traversable]:
    # By listing, never by joining a path: a name may come from a URL.
    root = files(__name__)
    folders = [("", root)] + [(f"{item.name}/", item) for item in root.iterdir() if item.is_dir()]
    return {
        prefix + item.name.removesuffix(".json"): item
        for prefix, folder in folders
        for item in folder.iterdir()
        if item.name.endswith(".json")
    }


@cache
def _registry() -> Registry[Any]:
    # The registry knows these documents only and asks no network for others.
    return Registry().with_resources(
        (BASE + name, Resource.from_contents(load(name))) for name in names()
    )
