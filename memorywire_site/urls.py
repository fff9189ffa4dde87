"""Every address of the server."""

from django.urls import include, path

from governance.api import problems, schemas
from governance.api.api import api
from governance.web import admin_site, probes

urlpatterns = [
    path("v0/", api.urls),
    path("v0/<path:rest>", problems.nowhere),
    path("livez", probes.livez),
    path("readyz", probes.readyz),
    path("metrics", probes.metrics),
    path("schemas/v0/", schemas.index),
    path("schemas/v0/<path:name>", schemas.schema),
    path("admin/", admin_site.site.urls),
    path("", include("governance.web.urls")),
]
