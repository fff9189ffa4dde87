"""The Django project: settings, addresses, the ASGI and Celery applications."""

__version__ = "0.1.0"
