"""Request bodies are strict JSON, read once, before anything else looks at them."""

from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from governance.errors import BadRequest, BodyTooLarge, FieldError, Invalid
from stores.wire import limits, strict_json

_UNREADABLE = {"json_invalid", "json_not_utf8"}


class StrictParser(Parser):
    def parse_body(self, request: HttpRequest) -> Any:
        length = request.headers.get("Content-Length", "0")
        if length.isdecimal() and int(length) > limits.BODY_MAX_BYTES:
            raise BodyTooLarge(f"At most {limits.BODY_MAX_BYTES} bytes, not {length}.")
        try:
            body = strict_json.loads(request.body)
        except strict_json.StrictJsonError as error:
            raise _refusal(error) from error
        if not isinstance(body, dict):
            raise Invalid("The body must be a JSON object.", code="not_an_object")
        request.memorywire_body = body  # type: ignore[attr-defined]
        return body


def _refusal(error: strict_json.StrictJsonError) -> BadRequest | BodyTooLarge | Invalid:
    if error.code == "body_too_large":
        return BodyTooLarge(str(error))
    if error.code in _UNREADABLE:
        return BadRequest(str(error), code=error.code)
    problem = FieldError(
        field=".".join(map(str, error.path or ())), code=error.code, message=str(error)
    )
    return Invalid(str(error), code=error.code, errors=(problem,))
