"""The audit event of one request: it grows while the request passes the gates, and is written at
the stages that the policy does not omit.

Models kubernetes staging/src/k8s.io/apiserver/pkg/audit/{request,context}.go and
pkg/endpoints/filters/{audit,authn_audit}.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from apiserver_app.auditing.policy import API_VERSION, COMPLETE, PANIC, RECEIVED, STARTED, Finding
from apiserver_app.authprotocols import Attributes
from apiserver_app.machinery import meta
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.meta import Object, User

AGENT_LENGTH_MAX = 1024
DECISION, REASON = "authorization.k8s.io/decision", "authorization.k8s.io/reason"
_ORDER = tuple(
    """
    kind apiVersion level auditID stage requestURI verb user impersonatedUser sourceIPs userAgent
    objectRef responseStatus requestObject responseObject requestReceivedTimestamp stageTimestamp
    annotations
    """.split()
)
OBJECTS = ("requestObject", "responseObject")
# webhooks' patches are logged from this level on
_PATCH = "patch.webhook.admission.k8s.io/"

Write = Callable[[Object], None]


class Event:
    """`write` takes the event at each stage; `now` is µs since 1970."""

    def __init__(
        self,
        finding: Finding,
        attributes: Attributes,
        write: Write,
        *,
        audit_id: str,
        uri: str,
        agent: str,
        addresses: Sequence[str],
        known: bool,
        now: int,
    ) -> None:
        self.finding = finding
        self._write = write
        self._received = meta.rfc3339_micro(now)
        self._done = False
        if len(agent) > AGENT_LENGTH_MAX:
            agent = agent[:AGENT_LENGTH_MAX] + "...TRUNCATED"
        self._event: Object = {
            "kind": "Event",
            "apiVersion": API_VERSION,
            "level": finding.level,
            "auditID": audit_id,
            "requestURI": uri,
            "verb": attributes.verb,
            "user": attributes.user.info() if known else {},
            "userAgent": agent,
            "requestReceivedTimestamp": self._received,
            "annotations": {},
        }
        if addresses:
            self._event["sourceIPs"] = list(addresses)
        if attributes.is_resource:
            pairs = (
                ("resource", attributes.resource),
                ("namespace", attributes.namespace),
                ("name", attributes.name),
                ("apiGroup", attributes.group),
                ("apiVersion", attributes.version),
                ("subresource", attributes.subresource),
            )
            self._event["objectRef"] = {name: value for name, value in pairs if value}

    @property
    def wants_request(self) -> bool:
        return self.finding.level in ("Request", "RequestResponse")

    @property
    def wants_response(self) -> bool:
        return self.finding.level == "RequestResponse"

    def impersonated(self, user: User) -> None:
        self._event["impersonatedUser"] = user.info()

    def authorized(self, decision: str, reason: str) -> None:
        notes = self._event["annotations"]
        if decision:
            notes[DECISION] = decision
        notes[REASON] = reason

    def requested(self, obj: Any) -> None:
        """Logs the decoded request object; encoded now, because it changes later."""
        reference = self._event.setdefault("objectRef", {})
        metadata = obj.get("metadata") if isinstance(obj, dict) else None
        for name in ("namespace", "name", "uid", "resourceVersion"):
            if metadata and metadata.get(name) and not reference.get(name):
                reference[name] = metadata[name]
        if self.wants_request:
            self._event["requestObject"] = orjson.Fragment(orjson.dumps(self._plain(obj)))

    def patched(self, body: Any) -> None:
        """Logs a patch or delete options, which do not name an object."""
        if self.wants_request and body:
            self._event["requestObject"] = orjson.Fragment(orjson.dumps(body))

    def failed_to_authenticate(self, methods: str, now: int) -> None:
        """Writes the only event of an unauthenticated request."""
        self._event["responseStatus"] = {"metadata": {}, "message": methods, "code": 401}
        self._done = True
        self._put(STARTED, now)

    def received(self) -> None:
        self._put(RECEIVED, 0)

    def started(self, code: int, now: int) -> None:
        """Writes the ResponseStarted stage of a long-running request."""
        self._event["responseStatus"] = {"metadata": {}, "code": code}
        self._put(STARTED, now)

    def complete(
        self,
        now: int,
        *,
        code: int = 200,
        obj: Any = None,
        error: ApiError | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> Object | None:
        """Writes the ResponseComplete stage. Returns the event without objects; None when not
        logged."""
        if self._done:
            return None
        self._done = True
        status: Object = {"metadata": {}}
        if error is not None:
            status["status"] = "Failure"
            error_status = error.status()
            for name in ("message", "reason", "details"):
                if error_status.get(name):
                    status[name] = error_status[name]
            code, obj = error.code, error_status
        elif isinstance(obj, dict) and obj.get("kind") == "Status":
            status["status"] = obj.get("status", "Success")
            if obj.get("details"):
                status["details"] = obj["details"]
        status["code"] = code
        self._event["responseStatus"] = status
        for name, text in (annotations or {}).items():
            if self.wants_request or not name.startswith(_PATCH):
                self._event["annotations"][name] = text
        if self.wants_response and obj is not None:
            self._event["responseObject"] = self._plain(obj)
        return self._put(COMPLETE, now)

    def panicked(self, message: str, now: int) -> None:
        if self._done:
            return
        self._done = True
        self._event["responseStatus"] = {
            "metadata": {},
            "status": "Failure",
            "reason": "InternalError",
            "code": 500,
            "message": f"APIServer panic'd: {message}",
        }
        self._put(PANIC, now)

    def _put(self, stage: str, now: int) -> Object | None:
        if stage in self.finding.omitted:
            return None
        event = {**self._event, "stage": stage}
        event["stageTimestamp"] = meta.rfc3339_micro(now) if now else self._received
        if not event["annotations"]:
            del event["annotations"]
        line = {name: event[name] for name in _ORDER if name in event}
        self._write(line)
        return {name: value for name, value in line.items() if name not in OBJECTS}

    def _plain(self, obj: Any) -> Any:
        """Removes managedFields where the policy omits them."""
        if not self.finding.without_managers or not isinstance(obj, dict):
            return obj
        out = dict(obj)
        if isinstance(out.get("items"), list):
            out["items"] = [self._plain(item) for item in out["items"]]
        metadata = out.get("metadata")
        if isinstance(metadata, dict) and "managedFields" in metadata:
            out["metadata"] = {key: metadata[key] for key in metadata if key != "managedFields"}
        return out


def source_addresses(headers: Mapping[str, str], address: str) -> list[str]:
    """Returns the client's addresses: those in the headers, then the connection's."""
    addresses = [part.strip() for part in headers.get("x-forwarded-for", "").split(",")]
    addresses = [part for part in addresses if part]
    real = headers.get("x-real-ip", "").strip()
    if real and real not in addresses:
        addresses.append(real)
    host = address.rpartition(":")[0].strip("[]") if address.count(":") == 1 else address
    if host and (not addresses or addresses[-1] != host):
        addresses.append(host)
    return addresses
