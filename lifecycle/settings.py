"""Django's settings. The demo sets the environment they read; tests and commands get defaults.

LIFECYCLE_DATA_DIR    where the databases lie (default ./data)
LIFECYCLE_REDIS_URL   a Redis for the channel layer of many machines (default: in memory)
"""

from __future__ import annotations

import logging
import os
import secrets
from pathlib import Path
from typing import Any

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(os.environ.get("LIFECYCLE_DATA_DIR", "data")).absolute()


SECRET_KEY = secrets.token_urlsafe(48)  # signs nothing: sessions are lifecycle.hosting.edge.access
DEBUG = False
ALLOWED_HOSTS = ["*"]  # the edge has checked the host: lifecycle.hosting.edge.origins

INSTALLED_APPS = [
    "apiserver_app",
    "controllers_app",
    "lifecycle",
    "rest_framework",
    "drf_spectacular",
]
MIDDLEWARE = ["lifecycle.web.policy.middleware"]
ROOT_URLCONF = "lifecycle.urls"
ASGI_APPLICATION = "lifecycle.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {"context_processors": []},
    }
]

# its one writer is the worker that owns the cluster: the log of revisions and the trace
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": DATA_DIR / "store.sqlite3",
        "OPTIONS": {
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
            "transaction_mode": "IMMEDIATE",
            "timeout": 1,  # seconds that a write waits for somebody else's lock
        },
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

if os.environ.get("LIFECYCLE_REDIS_URL"):
    CHANNEL_LAYERS: dict[str, Any] = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [os.environ["LIFECYCLE_REDIS_URL"]]},
        }
    }
else:
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False
LANGUAGE_CODE = "en-us"
STATIC_URL = "/static/"

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": None,
    "EXCEPTION_HANDLER": "lifecycle.api.problems.answer",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Kubernetes lifecycle: product API",
    "DESCRIPTION": (
        "Control, watch and replay a simulated cluster. The Kubernetes API itself is beside it, "
        "at /api and /apis."
    ),
    "VERSION": "v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "APPEND_COMPONENTS": {
        "securitySchemes": {
            "token": {
                "type": "http",
                "scheme": "bearer",
                "description": "`token` of endpoints.json in the data directory, or `viewer_token`",
            }
        }
    },
    "SECURITY": [{"token": []}],
}
SILENCED_SYSTEM_CHECKS = ["security.W004"]  # plain HTTP on this machine is part of the product

LOGGING_CONFIG = None  # Django's own logging would import its mail, forms and error pages
logging.basicConfig(format="%(message)s")
# a 404 or 409 of the product API is an answer, not an event
logging.getLogger("django.request").setLevel(logging.ERROR)
