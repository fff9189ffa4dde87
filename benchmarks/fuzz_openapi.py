"""Call the server as its OpenAPI document allows and forbids, and hold every answer against it.

    python -m benchmarks.fuzz_openapi --examples 20000

schemathesis makes the requests, half of them wrong, over real HTTP. Some are led to memories that
exist, so that the operations meet. No answer may be a 5xx, and each must be one that the document
declares: status, media type, headers and body.
"""

import argparse
import random
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode, Response
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from benchmarks.local_server import LocalServer, started

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
_ROUND = 40
"""Examples of one operation, right or wrong, before the next one's turn."""
_KNOWN_MAX = 200
_IDS = ("ids", "duplicates")


@dataclass(kw_only=True)
class Report:
    """What the campaign did and found. ``problems`` is empty if the server kept its word."""

    examples: int = 0
    seconds: float = 0
    statuses: Counter[str] = field(default_factory=Counter)
    problems: dict[str, str] = field(default_factory=dict)
    """Each kind of failure once: where and what, with a command that shows it."""

    def __str__(self) -> str:
        answers = ", ".join(f"{status} {count}" for status, count in sorted(self.statuses.items()))
        return (
            f"{self.examples} examples in {self.seconds:.0f} s ({answers}):"
            f" {len(self.problems)} problems"
        )


def run(examples: int, *, first_seed: int = 1) -> Report:
    """Start a server of its own and call each operation equally often, right and wrong."""
    # The model is not on trial: the static embedder leaves the time to the server.
    with started(embedder="static") as server:
        return _Campaign(server, first_seed).run(examples)


class _Campaign:
    def __init__(self, server: LocalServer, first_seed: int) -> None:
        self._server = server
        self._seed = first_seed
        self._chance = random.Random(first_seed)
        self._session = requests.Session()
        self._schema = schemathesis.openapi.from_url(f"{server.address}/v0/openapi.json")
        self._memories: list[str] = []
        self._operations: list[str] = []
        self._report = Report()

    def run(self, examples: int) -> Report:
        begun = time.monotonic()
        operations = [result.ok() for result in self._schema.get_all_operations()]
        ways = [(operation, mode) for mode in GenerationMode for operation in operations]
        # In rounds, so that a forget meets what a remember of an earlier round stored.
        while self._report.examples < examples:
            for operation, mode in ways:
                self._try(operation, mode)
        self._report.seconds = time.monotonic() - begun
        return self._report

    def _try(self, operation: Any, mode: GenerationMode) -> None:
        self._seed += 1

        @seed(self._seed)
        @settings(
            max_examples=_ROUND,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def call(case: Case) -> None:
            self._call(case)

        # An operation without input has no wrong input.
        with suppress(Unsatisfiable):
            call()

    def _call(self, case: Case) -> None:
        self._lead_to_what_exists(case)
        # One in fifty comes with a key that is none.
        key = "mw_none" if self._chance.random() < 0.02 else self._server.key
        response = case.call(
            base_url=self._server.address,
            session=self._session,
            headers={"Authorization": f"Bearer {key}"},
        )
        self._report.examples += 1
        self._report.statuses[str(response.status_code)] += 1
        self._learn_from(response)
        try:
            case.validate_response(response, checks=CHECKS)
        except FailureGroup as group:
            for failure in group.exceptions:
                where = f"{case.operation.label}: {failure}".splitlines()[0]
                self._report.problems.setdefault(where, str(group))

    def _lead_to_what_exists(self, case: Case) -> None:
        body = case.body
        if isinstance(body, dict) and self._chance.random() < 0.6:
            if isinstance(body.get("agent_id"), str):
                body["agent_id"] = "fuzz"
            for name in _IDS:
                if isinstance(body.get(name), list) and self._memories:
                    body[name] = self._chance.choices(self._memories, k=self._chance.randint(1, 3))
            if isinstance(body.get("canonical"), str) and self._memories:
                body["canonical"] = self._chance.choice(self._memories)
        path = case.path_parameters
        if path and "operation_id" in path and self._operations and self._chance.random() < 0.5:
            path["operation_id"] = self._chance.choice(self._operations)
            case.query.pop("wait", None)  # or it would wait for a person

    def _learn_from(self, response: Response) -> None:
        if response.status_code not in {200, 202}:
            return
        operation_ids = response.headers.get("memorywire-operation")
        if operation_ids:
            _remember(self._operations, operation_ids[0], self._chance)
        answer = response.json()
        if isinstance(answer, dict) and "stored_at" in answer:
            _remember(self._memories, answer["id"], self._chance)


def _remember(known: list[str], item: str, chance: random.Random) -> None:
    if len(known) < _KNOWN_MAX:
        known.append(item)
    else:
        known[chance.randrange(_KNOWN_MAX)] = item


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    report = run(options.examples, first_seed=options.seed)
    print(report)
    for problem in list(report.problems.values())[:20]:
        print(problem)
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
