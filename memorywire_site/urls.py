"""Every address of the server."""

from django.urls import include, path

from governance.api import schemas
from governance.api.api import api

urlpatterns = [
    path("v0/", api.urls),
    path("schemas/v0/", schemas.index),
    path("schemas/v0/<path:name>", schemas.schema),
    path("", include("governance.web.urls")),
]
