"""What the API answers to what is hardly a request."""

import json

import pytest

from stores.wire import limits
from tests.world import World


@pytest.mark.parametrize("size", [limits.BODY_MAX_BYTES + 1, 3_000_000, 6_000_000])
def test_a_body_beyond_the_limit_is_too_large_however_large(fast_world: World, size: int) -> None:
    answer = fast_world.post("/v0/remember", b" " * size)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("address", ["/v0/nothing", "/v0/operations/", "/v0/operations/a/b"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_an_address_that_is_none_is_a_problem_too(
    fast_world: World, address: str, method: str
) -> None:
    answer = getattr(fast_world.client, method)(address)
    assert answer.status_code == 404
    assert answer["Content-Type"] == "application/problem+json"
    assert json.loads(answer.content)["code"] == "not_found"
