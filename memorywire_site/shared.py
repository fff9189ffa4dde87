"""What the processes of one installation share: by Redis, or in the memory of the only one."""

from typing import Any

PREFIX = "memorywire"
VISIBILITY_SECONDS = 600
"""A task taken by a worker that died is given to another after this; the longest takes seconds."""


def channel_layer(redis_url: str) -> dict[str, Any]:
    """Django's setting for live pages."""
    if not redis_url:
        return {"BACKEND": "channels.layers.InMemoryChannelLayer"}
    return {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [redis_url], "prefix": PREFIX},
    }


def cache(redis_url: str) -> dict[str, Any]:
    """Django's setting for what may be forgotten at any time."""
    if not redis_url:
        return {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
    return {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": redis_url,
        "KEY_PREFIX": PREFIX,
    }


def broker(redis_url: str) -> tuple[str, dict[str, Any]]:
    """Where Celery's messages go, and how."""
    if not redis_url:
        return "memory://localhost/", {"polling_interval": 0.05}
    return redis_url, {"visibility_timeout": VISIBILITY_SECONDS, "global_keyprefix": f"{PREFIX}."}
