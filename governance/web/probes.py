"""What machines ask of the server: does it live, is it ready, what are its numbers. Public."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from governance import measuring, readiness
from governance.clock import now_ms


@never_cache
@require_safe
async def livez(request: HttpRequest) -> HttpResponse:
    """200 while the process answers at all; it touches nothing else."""
    return JsonResponse({"status": "alive"})


@never_cache
@require_safe
async def readyz(request: HttpRequest) -> HttpResponse:
    """200 while requests should be sent here, 503 with the reasons otherwise."""
    reasons = await readiness.reasons_against()
    status = "unready" if reasons else "ready"
    return JsonResponse({"status": status, "reasons": reasons}, status=503 if reasons else 200)


@never_cache
@require_safe
async def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus' text format, where the operator allows it."""
    if not settings.ENVIRONMENT.metrics:
        raise Http404
    return HttpResponse(
        await measuring.exposition(now_ms=now_ms()), content_type=CONTENT_TYPE_LATEST
    )
