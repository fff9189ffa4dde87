"""The JSON Schemas the server validates by, served under their own names."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from governance.api.problems import problem, request_id_of
from governance.errors import NotFound
from stores.wire import schemas


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """The names there are."""
    return JsonResponse({"schemas": [f"/schemas/v0/{name}" for name in schemas.names()]})


@require_safe
def schema(request: HttpRequest, name: str) -> HttpResponse:
    """One schema, under the end of its ``$id``; ``.json`` may follow."""
    try:
        found = schemas.load(name.removesuffix(".json"))
    except KeyError:
        return problem(NotFound("There is no such schema."), request_id_of(request))
    return JsonResponse(found, content_type="application/schema+json")
