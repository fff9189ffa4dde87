"""Puts our server in the place of the suite's one real store; its files stay as published.

The suite names its stores when it is imported, so a sixth cannot be added from outside. Of the five
it has, ``sqlite-vec`` is the one that is no mock and may skip nothing.
"""

import os

import pytest

from benchmarks.published.http_store import HttpStore

REPLACED = "sqlite-vec"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = [item for item in items if item.callspec.params["adapter_id"] == REPLACED]  # type: ignore[attr-defined]
    config.hook.pytest_deselected(items=[item for item in items if item not in ours])
    items[:] = ours


@pytest.fixture(autouse=True)
def _our_server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(adapter_id: str) -> HttpStore:
        assert adapter_id == REPLACED
        return HttpStore(os.environ["MEMORYWIRE_URL"], os.environ["MEMORYWIRE_KEY"])

    monkeypatch.setattr("tests.conformance.conftest.build_store_for", build)
