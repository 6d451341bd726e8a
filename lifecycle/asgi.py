"""What Django and Channels serve behind the edge: the page, the product API and the live feed.

The Kubernetes API never comes here (`lifecycle.hosting.edge.app`).
"""

from __future__ import annotations

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application
from django.urls import path

from controllers_app import consumers as role_consumers
from lifecycle.web import consumers

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lifecycle.settings")

application = ProtocolTypeRouter(
    {
        "http": get_asgi_application(),
        "websocket": URLRouter(
            [
                path("ws/v1/clusters/<str:cluster>/trace", consumers.TraceConsumer.as_asgi()),
                path("<path:rest>", consumers.Nothing.as_asgi()),
            ]
        ),
        # `manage.py runworker`: refused there by name until clusters can be owned by any worker
        "channel": role_consumers.application(role_consumers.NoHost()),
    }
)
