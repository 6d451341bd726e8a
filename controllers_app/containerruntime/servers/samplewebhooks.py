"""What the sample webhooks decide: an AdmissionReview goes in, an AdmissionReview comes out.

They are images of the catalog (`sidecar-injector`, `name-length`), deployed by the manifests in
lifecycle/catalog/webhooks. Pure: what is decided depends on the review alone.

Models the samples of kubernetes test/images/agnhost/webhook.
"""

from __future__ import annotations

import base64
from collections.abc import Callable

import orjson

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import HttpAnswer, HttpRequest

NAME_CHARACTERS_MAX = 10
SIDECAR: Object = {"name": "sidecar", "image": "lifecycle.example/sidecar:1.0"}
MARK = "sidecar-injector.lifecycle.example/status"

# a request of a review -> the response without its uid
Decide = Callable[[Object], Object]


def sidecar_injector(request: Object) -> Object:
    """Every pod it is asked about gets a container more, once."""
    pod = request.get("object") or {}
    containers = (pod.get("spec") or {}).get("containers") or []
    if any(container.get("name") == SIDECAR["name"] for container in containers):
        return {"allowed": True}
    operations: list[Object] = [{"op": "add", "path": "/spec/containers/-", "value": SIDECAR}]
    if (pod.get("metadata") or {}).get("annotations"):
        key = MARK.replace("~", "~0").replace("/", "~1")
        operations.append(
            {"op": "add", "path": f"/metadata/annotations/{key}", "value": "injected"}
        )
    else:
        operations.append(
            {"op": "add", "path": "/metadata/annotations", "value": {MARK: "injected"}}
        )
    patch = base64.b64encode(orjson.dumps(operations)).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": patch}


def name_length(request: Object) -> Object:
    """No name may have more than ten characters."""
    metadata = (request.get("object") or {}).get("metadata") or {}
    name = request.get("name") or metadata.get("name") or ""
    if len(name) <= NAME_CHARACTERS_MAX:
        return {"allowed": True}
    message = (
        f'the name "{name}" has {len(name)} characters, at most {NAME_CHARACTERS_MAX} are allowed'
    )
    status = {"code": 403, "reason": "Forbidden", "message": message}
    return {"allowed": False, "status": status}


def answer(decide: Decide, request: HttpRequest) -> HttpAnswer:
    """What the server says to a POST of a review; anything else is refused."""
    try:
        review = orjson.loads(request.body)
    except orjson.JSONDecodeError:
        review = None
    asked = review.get("request") if isinstance(review, dict) else None
    if request.method != "POST" or not isinstance(asked, dict):
        text = b"an AdmissionReview is expected\n"
        return HttpAnswer(400, {"content-type": "text/plain; charset=utf-8"}, text)
    response = {"uid": asked.get("uid", ""), **decide(asked)}
    body = {
        "kind": "AdmissionReview",
        "apiVersion": review.get("apiVersion", "admission.k8s.io/v1"),
        "response": response,
    }
    return HttpAnswer(200, {"content-type": "application/json"}, orjson.dumps(body))
