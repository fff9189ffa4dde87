"""Every address of the server."""

from django.urls import include, path

from governance.api.api import api

urlpatterns = [
    path("v0/", api.urls),
    path("", include("governance.web.urls")),
]
