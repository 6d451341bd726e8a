"""What a request carried: its body as an object of the served type, its options.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,delete,patch}.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.handlers.call import Call
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.machinery import client, errors, jsonbody, protobuf
from apiserver_app.machinery.meta import Object, ResourceInfo

_PROTOBUF = "application/vnd.kubernetes.protobuf"
_BODIES = ("application/json", "application/yaml", _PROTOBUF)
_PATCHES = (
    client.JSON_PATCH,
    client.MERGE_PATCH,
    client.STRATEGIC_PATCH,
    client.APPLY_PATCH,
)


def read(cluster: ClusterContext, call: Call, info: ResourceInfo) -> Object:
    """The body as it was sent. A component's dict is taken as it is and never changed."""
    body = call.body
    if isinstance(body, dict):
        return body
    assert not isinstance(body, list), "only a patch is a list"
    kind = call.content_type.split(";", 1)[0].strip()
    if kind == _PROTOBUF:
        obj = protobuf.decode(body or b"")
    elif kind in ("", *_BODIES):
        obj, duplicates = jsonbody.decode(
            body or b"", kind, find_duplicates=call.param("fieldValidation") != "Ignore",
            into=f"{info.kind}",
        )  # fmt: skip
        call.duplicates = duplicates
    else:
        raise errors.unsupported_media_type(kind, _BODIES)
    if not isinstance(obj, dict):
        raise errors.bad_request(
            f'{info.kind} in version "{info.version}" cannot be handled as a {info.kind}: '
            "json: cannot unmarshal into Go value of type "
            f"{info.version}.{info.kind}"
        )
    return obj


def read_patch(cluster: ClusterContext, call: Call) -> Any:
    """The patch as a value; 415 for what is none."""
    if not isinstance(call.body, bytes):
        return call.body
    kind = call.content_type.split(";", 1)[0].strip()
    if kind not in _PATCHES:
        raise errors.unsupported_media_type(kind, _PATCHES)
    call.content_type = kind
    as_kind = "application/yaml" if kind == client.APPLY_PATCH else "application/json"
    patch, _ = jsonbody.decode(call.body, as_kind, find_duplicates=False)
    if (kind == client.JSON_PATCH) != isinstance(patch, list) or not isinstance(
        patch, (dict, list)
    ):
        raise errors.bad_request(
            "error decoding patch: a JSON patch is a list, any other patch an object"
        )
    if kind == client.APPLY_PATCH and not call.param("fieldManager"):
        raise errors.invalid("meta.k8s.io", "PatchOptions", "", [
            errors.required("fieldManager", "is required for apply patch")
        ])
    return patch


def typed(
    cluster: ClusterContext, call: Call, info: ResourceInfo, raw: Object
) -> tuple[Object, list[str]]:
    """A fresh object of the type the URL serves, and what is unknown or doubled in it."""
    version, kind = raw.get("apiVersion") or "", raw.get("kind") or ""
    if (version and version != info.api_version) or (kind and kind != info.kind):
        raise _wrong_kind(cluster, info, str(version), str(kind))
    obj, unknown = cluster.types.decode(info.definition, raw)
    obj["apiVersion"] = info.api_version
    obj["kind"] = info.kind
    if not isinstance(obj.get("metadata"), dict):
        obj["metadata"] = {}
    return obj, [*call.duplicates, *unknown]


def _wrong_kind(
    cluster: ClusterContext, info: ResourceInfo, version: str, kind: str
) -> errors.ApiError:
    group, _, tail = version.rpartition("/")
    if version and cluster.resources.by_gvk(group, tail, kind) is None:
        return errors.bad_request(
            f'no kind "{kind}" is registered for version "{version}" in scheme '
            '"pkg/api/legacyscheme/scheme.go:30"'
        )
    return errors.bad_request(
        f"the API version in the data ({version}) does not match the expected API version "
        f"({info.api_version})"
        if version != info.api_version
        else f"the kind in the data ({kind}) does not match the expected kind ({info.kind})"
    )


def dry_run(call: Call) -> bool:
    """Whether nothing shall be stored. Only `All` is known."""
    values = call.params.get("dryRun") or []
    for value in values:
        if value not in ("All", ""):
            raise errors.invalid("meta.k8s.io", "CreateOptions", "", [
                errors.not_supported("dryRun", value, ("All",))
            ])
    return "All" in values


def delete_options(call: Call) -> Object:
    """DeleteOptions from the body, or from the query as some clients send them."""
    options: Object = {}
    body = call.body
    if isinstance(body, dict):
        options = dict(body)
    elif body:
        kind = call.content_type.split(";", 1)[0].strip()
        if kind == _PROTOBUF:
            options = protobuf.decode(body)  # type: ignore[arg-type]
        elif kind in ("", *_BODIES):
            options = jsonbody.decode(body, kind, find_duplicates=False)[0]  # type: ignore[arg-type]
        else:
            raise errors.unsupported_media_type(kind, _BODIES)
        if not isinstance(options, dict):
            raise errors.bad_request("the body of a delete must be DeleteOptions")
    if call.param("gracePeriodSeconds") and "gracePeriodSeconds" not in options:
        try:
            options["gracePeriodSeconds"] = int(call.param("gracePeriodSeconds"))
        except ValueError as error:
            raise errors.bad_request(
                f'strconv.ParseInt: parsing "{call.param("gracePeriodSeconds")}": invalid syntax'
            ) from error
    if call.param("propagationPolicy"):
        options.setdefault("propagationPolicy", call.param("propagationPolicy"))
    if call.param("orphanDependents"):
        options.setdefault("orphanDependents", call.param("orphanDependents") == "true")
    if options.get("dryRun") or dry_run(call):
        options["dryRun"] = ["All"]
    _check_delete_options(options)
    return options


def _check_delete_options(options: Object) -> None:
    found = []
    policy = options.get("propagationPolicy")
    if policy is not None and policy not in ("Background", "Foreground", "Orphan"):
        found.append(
            errors.not_supported(
                "propagationPolicy", policy, ("Foreground", "Background", "Orphan")
            )
        )
    if policy is not None and options.get("orphanDependents") is not None:
        found.append(
            errors.invalid_value(
                "propagationPolicy", policy,
                "orphanDependents and deletionPropagation cannot be both set",
            )  # fmt: skip
        )
    if found:
        raise errors.invalid("meta.k8s.io", "DeleteOptions", "", found)
