"""The worked examples in docs/examples: three per operation, each valid both ways."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stores import wire
from stores.wire import schemas

EXAMPLES = sorted((Path(__file__).parents[2] / "docs" / "examples").glob("*.json"))
OPERATIONS = ("remember", "recall", "forget", "merge", "expire")


def read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text()))


def test_there_are_three_per_operation() -> None:
    assert Counter(read(path)["operation"] for path in EXAMPLES) == dict.fromkeys(OPERATIONS, 3)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_what_schema_and_model_accept(path: Path) -> None:
    example = read(path)
    operation = example["operation"]
    for part, suffix in (("request", "Request"), ("response", "Response")):
        name = f"operations/{operation}" + (".response" if part == "response" else "")
        schemas.validator(name).validate(example[part])
        model = getattr(wire, f"{operation.capitalize()}{suffix}")
        model.model_validate(example[part])
        assert set(example[part]) <= set(model.model_fields)
