"""The OpenAPI document is what the server does, and docs/protocol.md names every refusal."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks import fuzz_openapi
from governance import errors
from governance.api.api import api

ROOT = Path(__file__).resolve().parents[2]
SNAPSHOT = Path(__file__).with_name("openapi.json")
RENEW = "RENEW_OPENAPI=1 make test ARGS=tests/governance/test_openapi.py"


def the_document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(api.get_openapi_schema()))
    return document


def test_the_document_is_as_reviewed() -> None:
    text = json.dumps(the_document(), indent=1, sort_keys=True) + "\n"
    if os.environ.get("RENEW_OPENAPI"):
        SNAPSHOT.write_text(text)
    assert SNAPSHOT.read_text() == text, f"If the change is meant: {RENEW}"


def test_every_refusal_is_declared_as_problem_json() -> None:
    for path, operations in the_document()["paths"].items():
        for method, operation in operations.items():
            refusals = {
                status: list(response["content"])
                for status, response in operation["responses"].items()
                if int(status) >= 400
            }
            assert refusals, f"{method} {path} declares none"
            assert all("application/problem+json" in types for types in refusals.values())
            # Whatever asks for a key can refuse it.
            assert ("401" in refusals) == bool(operation.get("security"))


def test_every_declared_header_is_explained() -> None:
    explained = (ROOT / "docs" / "protocol.md").read_text()
    operations = [each for methods in the_document()["paths"].values() for each in methods.values()]
    sent = {
        each["name"] for one in operations for each in one["parameters"] if each["in"] == "header"
    }
    answered = {
        name
        for one in operations
        for response in one["responses"].values()
        for name in response.get("headers", {})
    }
    assert "Idempotency-Key" in sent
    assert {name for name in sent | answered if f"`{name}`" not in explained} == set()


def test_the_server_answers_wrong_and_right_requests_as_the_document_says() -> None:
    report = fuzz_openapi.run(400)
    assert report.problems == {}
    assert {"200", "202", "401", "404", "422"} <= set(report.statuses)


def codes_in_use() -> set[str]:
    """Codes of the error tree, and those given wherever something is refused."""
    classes = [each for each in vars(errors).values() if isinstance(each, type)]
    codes = {each.code for each in classes if issubclass(each, errors.GovernanceError)}
    for folder, pattern in (
        ("governance", r'\bcode="(\w+)"'),
        ("stores/wire", r'(?:PydanticCustomError|StrictJsonError)\(\s*"(\w+)"'),
    ):
        for source in (ROOT / folder).rglob("*.py"):
            codes |= set(re.findall(pattern, source.read_text()))
    return codes


@pytest.mark.parametrize("code", sorted(codes_in_use()))
def test_every_error_code_is_explained(code: str) -> None:
    explained = (ROOT / "docs" / "protocol.md").read_text().partition("## Errors")[2]
    assert f"`{code}`" in explained
