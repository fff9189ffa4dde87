"""Values that no store could keep are refused where they enter."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from stores.wire import ForgetRequest, RecallRequest, RememberRequest


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, [1.0, math.nan], {"deep": [{"er": math.inf}]}]
)
def test_a_number_that_is_not_json_is_refused_everywhere(value: Any):
    with pytest.raises(ValidationError, match="NaN"):
        RememberRequest(agent_id="a", type="semantic", content="x", metadata={"k": value})
    with pytest.raises(ValidationError, match="NaN"):
        RecallRequest(agent_id="a", query="x", filter={"k": value})
    with pytest.raises(ValidationError, match="NaN"):
        ForgetRequest(agent_id="a", filter={"k": {"$gt": value}})
