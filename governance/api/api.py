"""The API object and its routers."""

from governance.api import health, operations, problems, waiting
from governance.api.auth import BearerKey
from governance.api.openapi import DocumentedAPI
from governance.api.parser import StrictParser

api = DocumentedAPI(
    title="memorywire governance server",
    version="0",
    description="memorywire v0, with a person in front of the writes.",
    urls_namespace="v0",
    docs_url=None,  # its page needs inline scripts, which our CSP refuses
    parser=StrictParser(),
    auth=BearerKey(),
)
api.add_router("", health.router)
api.add_router("", operations.router)
api.add_router("", waiting.router)
problems.register(api)
