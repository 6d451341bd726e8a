"""The controllers of CustomResourceDefinitions, which run inside the API server.

Each is in its file; CONTROLLERS is the list of them. They act as the server itself does, through
its loopback client, and start with the first definition.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go.
"""

from __future__ import annotations

from controllers_app.apiextensions import approval, establishing, finalizer, naming
from controllers_app.runtime.controller import Factory

CONTROLLERS: tuple[tuple[str, Factory], ...] = (
    ("crd-naming", naming.NamingController),
    ("crd-establishing", establishing.EstablishingController),
    ("crd-api-approval", approval.ApprovalController),
    ("crd-finalizer", finalizer.FinalizerController),
)
