"""Every adapter behaves as a memorywire store does."""

import pytest

from stores.testing import SCENARIOS, Scenario, StoreFactory, Unsupported


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
async def test_conformance(scenario: Scenario, new_store: StoreFactory):
    try:
        await scenario(new_store)
    except Unsupported as reason:
        pytest.skip(str(reason))
