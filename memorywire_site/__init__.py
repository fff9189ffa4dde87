"""The Django project: settings, addresses, the ASGI and Celery applications."""
