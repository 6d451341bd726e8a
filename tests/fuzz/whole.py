"""Objects of any kind with as many fields as the server takes: all that the schema has, less what
the server says is wrong with them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from apiserver_app.machinery.meta import ResourceInfo
from apiserver_app.machinery.types.schema import Field
from lifecycle.hosting.scripted import Session
from tests.controllers_app.controllers.test_certificates import request_of

DEPTH_MAX = 12
ATTEMPTS_MAX = 60


class Just(dict[str, Any]):
    """Taken as it is, with nothing of what was made."""


PODS: dict[str, Any] = {
    "containers": [{"name": "main", "image": "nginx"}],
    "serviceAccountName": "default",
}
PODS |= dict.fromkeys(
    (
        "nodeName",
        "overhead",
        "preemptionPolicy",
        "priority",
        "priorityClassName",
        "runtimeClassName",
    )
)
APP = {"matchLabels": {"app": "whole"}, "matchExpressions": None}
TEMPLATE = {"metadata": {"labels": {"app": "whole"}}, "spec": PODS}
TASK = {"metadata": {"labels": {"app": "whole"}}, "spec": {**PODS, "restartPolicy": "Never"}}
WORKLOAD = {"spec": {"selector": APP, "template": TEMPLATE}}
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
HOOK = {
    "name": "a.example.com",
    "clientConfig": {"service": None, "url": "https://127.0.0.1:1/x"},
    "rules": [RULE],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "failurePolicy": "Ignore",
    "matchConditions": None,
}
ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
REQUEST = Just(storage="1Gi")
SCHEMA = {"openAPIV3Schema": Just(type="object")}
COLUMN = {"name": "a", "type": "string", "jsonPath": ".spec.a", "format": None}
VERSION = {
    "name": "v1",
    "served": True,
    "storage": True,
    "schema": SCHEMA,
    "additionalPrinterColumns": [COLUMN],
    "selectableFields": None,
    "subresources": Just(status={}),
}
LIMITED = {"limitResponse": {"type": "Reject", "queuing": None}}
# what must be so for an object to be one at all; None leaves a field out
GIVEN: dict[str, dict[str, Any]] = {
    "APIService": {
        "metadata": {"name": "v1.example.com"},
        "spec": {"group": "example.com", "version": "v1", "caBundle": None},
    },
    "CertificateSigningRequest": {
        "spec": {
            "request": request_of("whole"), "signerName": "example.com/a",
            "usages": ["client auth"],
        },
    },
    "CronJob": {"spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": TASK}}}},
    "CustomResourceDefinition": {
        "metadata": {"name": "wholes.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "wholes", "singular": "whole", "kind": "Whole", "listKind": None},
            "versions": [VERSION],
        },
    },
    "DaemonSet": WORKLOAD,
    "Deployment": WORKLOAD,
    "EndpointSlice": {"addressType": "IPv4", "endpoints": [{"addresses": ["10.1.2.3"]}]},
    "Endpoints": {"subsets": [{"addresses": [{"ip": "10.1.2.3"}]}]},
    "HorizontalPodAutoscaler": {
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "a"}},
    },
    "IPAddress": {
        "metadata": {"name": "10.96.1.1"},
        "spec": {"parentRef": {"group": None, "resource": "services", "name": "a"}},
    },
    "IngressClass": {"spec": {"controller": "example.com/a"}},
    "Job": {"spec": {"selector": None, "manualSelector": None, "template": TASK}},
    "MutatingWebhookConfiguration": {"webhooks": [HOOK]},
    "Event.events.k8s.io": {
        "type": "Normal",
        **dict.fromkeys(
            (
                "deprecatedCount", "deprecatedFirstTimestamp", "deprecatedLastTimestamp",
                "deprecatedSource",
            )
        ),
    },
    "Node": {
        "metadata": {"name": "node-9"},
        "spec": {"podCIDR": "10.9.0.0/24", "podCIDRs": ["10.9.0.0/24"], "taints": None},
    },
    "PersistentVolume": {
        "spec": {
            "accessModes": ["ReadWriteOnce"], "capacity": REQUEST, "cephfs": None,
            "hostPath": Just(path="/a"),
            "persistentVolumeReclaimPolicy": "Retain",
        },
    },
    "PersistentVolumeClaim": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": REQUEST}},
    },
    "Pod": {"spec": PODS},
    "PodTemplate": {"template": TEMPLATE},
    "PriorityLevelConfiguration": {"spec": {"type": "Limited", "exempt": None, "limited": LIMITED}},
    "ReplicaSet": WORKLOAD,
    "ReplicationController": {"spec": {"selector": {"app": "whole"}, "template": TEMPLATE}},
    "ClusterRoleBinding": {"roleRef": ROLE},
    "RoleBinding": {"roleRef": ROLE},
    "Service": {
        "spec": {"ports": [{"name": "a", "port": 80}], "type": "LoadBalancer",
            "clusterIP": None, "clusterIPs": None, "loadBalancerSourceRanges": None,
        },
    },
    "ServiceCIDR": {"spec": {"cidrs": ["10.120.0.0/24"]}},
    "StatefulSet": WORKLOAD,
    "ValidatingAdmissionPolicy": {
        "spec": {
            "matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "true"}],
        },
    },
    "ValidatingAdmissionPolicyBinding": {
        "spec": {"policyName": "a", "validationActions": ["Warn"], "matchResources": None},
    },
    "ValidatingWebhookConfiguration": {"webhooks": [HOOK]},
    "VolumeAttachment": {
        "spec": {
            "attacher": "example.com", "nodeName": "a",
            "source": {"inlineVolumeSpec": None, "persistentVolumeName": "a"},
        },
    },
}  # fmt: skip


class Refused(AssertionError):
    """The server does not take the object, whatever is left out."""


def largest(session: Session, info: ResourceInfo, path: str, name: str) -> dict[str, Any]:
    """What the server answers to the creation of the fullest object that it takes."""
    types = session.cluster.context.types
    schema = types.schema(info.definition)
    made = {
        field.name: _value(field, 0, ())
        for field in schema.fields.values()
        if field.name not in ("kind", "apiVersion", "metadata", "status")
    }
    given = GIVEN.get(f"{info.kind}.{info.group}") or GIVEN.get(info.kind, {})
    made = _over(made, given)
    made["metadata"] = {
        "name": given.get("metadata", {}).get("name", name),
        "labels": {"app": "whole"},
        "annotations": {"example.com/note": "a: b\n\t\u00e9"},
    }
    made |= {"kind": info.kind, "apiVersion": info.api_version}
    for _ in range(ATTEMPTS_MAX):
        answer = session.request("POST", path, made)
        if answer.status == 201:
            created: dict[str, Any] = answer.json()
            return created
        status = answer.json()
        causes = status.get("details", {}).get("causes", ()) if answer.status == 422 else ()
        # what is missing may be so only because of what is wrong beside it
        wrong = [cause for cause in causes if cause["reason"] != "FieldValueRequired"]
        if not (_dropped(made, wrong, given) or _dropped(made, causes, given)):
            raise Refused(f"{info.kind}: {status['message']}")
    raise Refused(f"{info.kind}: still refused after {ATTEMPTS_MAX} attempts")


def _value(field: Field, depth: int, above: tuple[str, ...]) -> Any:
    """Something of the field's type, or None where that would have no end."""
    if field.kind in _PLAIN:
        return _PLAIN[field.kind]
    if field.kind == "list":
        assert field.item is not None
        inside = _value(field.item, depth + 1, above)
        return None if inside is None else [inside]
    if field.kind == "map":
        assert field.item is not None
        inside = _value(field.item, depth + 1, above)
        return None if inside is None else {"key": inside}
    if field.definition in above or depth > DEPTH_MAX:
        return None
    schema = field.schema
    assert schema is not None, field
    found = {
        one.name: _value(one, depth + 1, (*above, field.definition))
        for one in schema.fields.values()
    }
    return {name: value for name, value in found.items() if value is not None}


_PLAIN: dict[str, Any] = {
    "string": "a", "boolean": True, "integer": 1, "number": 1.5, "quantity": "1",
    "intorstring": 1, "time": "2025-01-01T00:00:00Z", "microtime": "2025-01-01T00:00:00.000000Z",
    "bytes": "YQ==", "raw": {"a": 1},
}  # fmt: skip


def _over(made: Any, given: Any) -> Any:
    """What is given, over what was made."""
    if isinstance(made, dict) and isinstance(given, dict) and not isinstance(given, Just):
        out = {**made, **{name: _over(made.get(name), value) for name, value in given.items()}}
        return {name: value for name, value in out.items() if value is not None}
    if isinstance(made, list) and isinstance(given, list) and made:
        return [_over(made[0], one) for one in given]
    return given


def _dropped(made: dict[str, Any], causes: Sequence[dict[str, Any]], given: Any) -> bool:
    return sum(_drop(made, cause["field"], given) for cause in causes) > 0


def _drop(made: dict[str, Any], field: str, given: Any) -> bool:
    """Leave out what is wrong, or the innermost thing around what is missing in it."""
    steps = [one.strip("[]") for one in re.findall(r"[^.\[\]]+|\[[^\]]*\]", field)]
    at: Any = made
    places: list[tuple[Any, Any]] = []
    for step in steps:
        key: Any = int(step) if isinstance(at, list) and step.isdecimal() else step
        if not (key in at if isinstance(at, dict) else _is_index(at, key)):
            break
        places.append((at, key))
        at = at[key]
    while places:
        inside, key = places.pop()
        if not _is_given(given, [key for _, key in places] + [key]):
            del inside[key]
            return True
    return False


def _is_index(at: Any, key: Any) -> bool:
    return isinstance(at, list) and isinstance(key, int) and key < len(at)


def _is_given(given: Any, steps: list[Any]) -> bool:
    for step in steps:
        if isinstance(given, dict) and step in given:
            given = given[step]
        elif isinstance(given, list) and isinstance(step, int) and step < len(given):
            given = given[step]
        else:
            return False
    return True
