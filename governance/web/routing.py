"""Addresses of the sockets."""

from django.urls import URLPattern, path

from governance.web.consumer import LiveConsumer

websocket_urlpatterns: list[URLPattern] = [path("live", LiveConsumer.as_asgi())]
