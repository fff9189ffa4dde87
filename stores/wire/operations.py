"""Requests and responses of the five operations, as the protocol's section 3 gives them.

Requests are open: unknown keys are ignored, so a newer client can talk to an older server.
Responses are closed. An explicit null in a request counts as absent. Nothing is coerced:
``"5"`` is not 5 and ``true`` is not 1.
"""

import json
import math
import unicodedata
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from stores.wire import limits, names
from stores.wire.records import Confidence, EpochMs, MemoryType, Metadata, WireMemoryType

# Categories of characters that leave no mark: separators, controls, format characters.
_INVISIBLE = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})


def _not_blank(value: str) -> str:
    if all(unicodedata.category(char) in _INVISIBLE for char in value):
        raise PydanticCustomError("blank", "must contain at least one visible character")
    return value


def _storable_text(value: str) -> str:
    # U+0000 is refused by PostgreSQL and lone surrogates have no UTF-8: refusing both here keeps
    # every store's answer the same.
    if "\x00" in value:
        raise PydanticCustomError("nul_character", "must not contain the character U+0000")
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise PydanticCustomError("lone_surrogate", "must not contain lone surrogates")
    return value


def _unmistakable(value: str) -> str:
    if fault := names.fault(value):
        raise PydanticCustomError("look_alike", "{fault}", {"fault": fault})
    return value


def _finite(value: float) -> float:
    # NaN and the infinities are not JSON: once stored, no other reader could parse the record.
    if not math.isfinite(value):
        raise PydanticCustomError("not_finite", "must not contain NaN or an infinity")
    return value


def _storable_json(value: Any) -> Any:
    if isinstance(value, str):
        _storable_text(value)
    elif isinstance(value, float):
        _finite(value)
    elif isinstance(value, list):
        for item in value:
            _storable_json(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            _storable_text(key)
            _storable_json(item)
    return value


def _small_json(value: dict[str, Any]) -> dict[str, Any]:
    _storable_json(value)
    size = len(json.dumps(value, ensure_ascii=False).encode())
    if size > limits.METADATA_MAX_BYTES:
        raise PydanticCustomError(
            "too_large",
            "must be at most {limit} bytes as JSON, is {size}",
            {"limit": limits.METADATA_MAX_BYTES, "size": size},
        )
    return value


Text = Annotated[str, AfterValidator(_storable_text)]
VisibleText = Annotated[Text, AfterValidator(_not_blank)]
Name = Annotated[VisibleText, AfterValidator(_unmistakable)]
AgentId = Annotated[Name, Field(min_length=1, max_length=limits.AGENT_ID_MAX)]
UserId = Annotated[Name, Field(max_length=limits.USER_ID_MAX)]
MemoryRef = Annotated[Text, Field(min_length=1, max_length=limits.MEMORY_ID_MAX)]
Reason = Annotated[Text, Field(max_length=limits.REASON_MAX)]
JsonObject = Annotated[Metadata, AfterValidator(_small_json)]
Days = Annotated[int, Field(ge=1, le=limits.DAYS_MAX)]


class Fusion(StrEnum):
    RRF = "rrf"
    MAX = "max"
    WEIGHTED = "weighted"


class MergeStrategy(StrEnum):
    KEEP_CANONICAL = "keep_canonical"
    MERGE_CONTENT = "merge_content"
    KEEP_HIGHEST_CONFIDENCE = "keep_highest_confidence"


class ExpireAction(StrEnum):
    FORGET = "forget"
    ARCHIVE = "archive"
    DEMOTE = "demote"


class WireRequest(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: Any) -> Any:
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if value is not None}
        return data


class WireResponse(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class RememberRequest(WireRequest):
    agent_id: AgentId
    user_id: UserId | None = None
    type: WireMemoryType
    content: Annotated[VisibleText, Field(min_length=1, max_length=limits.CONTENT_MAX)]
    metadata: JsonObject = Field(default_factory=dict)
    confidence: Confidence = 1.0
    source: Annotated[Text, Field(max_length=limits.SOURCE_MAX)] | None = None
    expires_at: EpochMs | None = None
    approval_required: bool = False
    # For moving memories in: the server accepts these two from keys with the `import` scope only.
    id: MemoryRef | None = None
    created_at: EpochMs | None = None


class RememberResponse(WireResponse):
    id: str
    stored_at: int
    stores: list[str]
    pending_approval: bool
    approval_url: str | None = None


class RecallRequest(WireRequest):
    agent_id: AgentId
    user_id: UserId | None = None
    query: Annotated[VisibleText, Field(min_length=1, max_length=limits.QUERY_MAX)]
    k: Annotated[int, Field(ge=1, le=limits.RECALL_K_MAX)] = 5
    types: list[WireMemoryType] | None = None
    hops: Annotated[int, Field(ge=0, le=3)] = 0
    fusion: Annotated[Fusion, Field(strict=False)] = Fusion.RRF
    filter: JsonObject | None = None
    fresher_than_days: Annotated[int, Field(ge=0, le=limits.DAYS_MAX)] | None = None


class RecallHit(BaseModel):
    """One recalled memory. Hits are open: a newer server may add fields."""

    model_config = ConfigDict(strict=True, frozen=True, extra="allow")

    id: str
    type: WireMemoryType
    content: str | dict[str, JsonValue]
    """The text; of a procedure the state machine as an object."""
    score: Annotated[float, Field(allow_inf_nan=False)]
    metadata: Metadata = Field(default_factory=dict)
    created_at: int
    supporting: list[str] = Field(default_factory=list)
    source_store: str


class RecallResponse(WireResponse):
    results: list[RecallHit]
    fusion_used: Annotated[Fusion, Field(strict=False)]
    stores_queried: list[str]
    latency_ms: Annotated[int, Field(ge=0)]


class ForgetRequest(WireRequest):
    agent_id: AgentId
    user_id: UserId | None = None
    ids: Annotated[list[MemoryRef], Field(max_length=limits.ID_LIST_MAX)] | None = None
    filter: JsonObject | None = None
    hard_delete: bool = False
    reason: Reason | None = None
    approval_required: bool = False

    @model_validator(mode="after")
    def _names_something(self) -> "ForgetRequest":
        # An empty list or filter matches everything or nothing depending on who reads it: refuse.
        if not self.ids and not self.filter:
            raise PydanticCustomError(
                "no_scope", "needs ids or a filter, and not both empty: nothing was forgotten"
            )
        return self


class StoreOutcome(WireResponse):
    """What one store did: how many memories, and the error if it failed."""

    store: str
    count: Annotated[int, Field(ge=0)]
    error: str | None = None


class ForgetResponse(WireResponse):
    forgotten_ids: list[str]
    hard_delete: bool
    stores: list[StoreOutcome]
    pending_approval: bool = False
    approval_url: str | None = None


class MergeRequest(WireRequest):
    agent_id: AgentId
    canonical: Annotated[VisibleText, Field(min_length=1, max_length=limits.MEMORY_ID_MAX)]
    duplicates: Annotated[list[MemoryRef], Field(min_length=1, max_length=limits.ID_LIST_MAX)]
    strategy: Annotated[MergeStrategy, Field(strict=False)] = MergeStrategy.KEEP_CANONICAL
    approval_required: bool = False


class MergeResponse(WireResponse):
    canonical: str
    merged_count: Annotated[int, Field(ge=0)]
    strategy_used: Annotated[MergeStrategy, Field(strict=False)]
    stores: list[str]
    pending_approval: bool = False
    approval_url: str | None = None


class ExpirePolicy(WireRequest):
    """Conditions that must all hold. At least one is given."""

    older_than_days: Days | None = None
    type: WireMemoryType | None = None
    confidence_below: Confidence | None = None
    no_recall_in_days: Days | None = None

    @model_validator(mode="after")
    def _has_a_condition(self) -> "ExpirePolicy":
        if not any(
            value is not None
            for value in (
                self.older_than_days,
                self.type,
                self.confidence_below,
                self.no_recall_in_days,
            )
        ):
            raise PydanticCustomError(
                "empty_policy", "needs at least one condition: nothing was expired"
            )
        return self


class ExpireRequest(WireRequest):
    agent_id: AgentId
    policy: ExpirePolicy
    action: Annotated[ExpireAction, Field(strict=False)] = ExpireAction.FORGET


class ExpireResponse(WireResponse):
    matched_count: Annotated[int, Field(ge=0)]
    action_taken: Annotated[ExpireAction, Field(strict=False)]
    stores: list[str]


__all__ = [
    "ExpireAction",
    "ExpirePolicy",
    "ExpireRequest",
    "ExpireResponse",
    "ForgetRequest",
    "ForgetResponse",
    "Fusion",
    "MemoryType",
    "MergeRequest",
    "MergeResponse",
    "MergeStrategy",
    "RecallHit",
    "RecallRequest",
    "RecallResponse",
    "RememberRequest",
    "RememberResponse",
    "StoreOutcome",
    "WireRequest",
    "WireResponse",
]
