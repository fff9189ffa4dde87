"""The ASGI application: HTTP by Django, the live socket by channels."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memorywire_site.settings")
_django = get_asgi_application()

# Imported after Django is set up: these modules need the app registry.
from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402

from governance.web.routing import websocket_urlpatterns  # noqa: E402
from memorywire_site.api_handler import ApiHandler, Receive, Scope, Send  # noqa: E402

_api = ApiHandler()


async def _http(scope: Scope, receive: Receive, send: Send) -> None:
    handler = _api if scope["path"].startswith("/v0/") else _django
    await handler(scope, receive, send)


application = ProtocolTypeRouter(
    {
        "http": _http,
        "websocket": AllowedHostsOriginValidator(
            AuthMiddlewareStack(URLRouter(websocket_urlpatterns))
        ),
    }
)
