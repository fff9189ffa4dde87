"""The memory record: what a memory is, wherever it is kept."""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue
from pydantic_core import PydanticCustomError

from stores.wire import limits


class MemoryType(StrEnum):
    """The four memory types of the protocol, section 2."""

    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"
    EMOTIONAL = "emotional"


def _is_milliseconds(value: int) -> int:
    if 0 < value < limits.EPOCH_MS_MIN:
        raise PydanticCustomError(
            "time_in_seconds",
            "must be milliseconds since 1970, and this can only be seconds: multiply by 1000",
        )
    return value


#: A point in time: integer milliseconds since 1970-01-01 UTC.
EpochMs = Annotated[
    int,
    AfterValidator(_is_milliseconds),
    Field(ge=limits.EPOCH_MS_MIN, le=limits.EPOCH_MS_MAX),
]
Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
#: Accepts the wire's string even in a strict model.
WireMemoryType = Annotated[MemoryType, Field(strict=False)]
Metadata = dict[str, JsonValue]


class MemoryRecord(BaseModel):
    """One memory as it is kept and exported. Times are epoch milliseconds, UTC."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    id: Annotated[str, Field(min_length=1, max_length=limits.MEMORY_ID_MAX)]
    agent_id: Annotated[str, Field(min_length=1, max_length=limits.AGENT_ID_MAX)]
    user_id: Annotated[str | None, Field(max_length=limits.USER_ID_MAX)] = None
    type: WireMemoryType
    content: Annotated[str, Field(min_length=1)]
    metadata: Metadata = Field(default_factory=dict)
    confidence: Confidence = 1.0
    source: str | None = None
    created_at: int
    updated_at: int
    expires_at: int | None = None
