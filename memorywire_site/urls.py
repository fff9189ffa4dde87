"""Every address of the server."""

from django.contrib import admin
from django.urls import include, path

from governance.api.api import api

urlpatterns = [
    path("v0/", api.urls),
    path("admin/", admin.site.urls),
    path("", include("governance.web.urls")),
]
