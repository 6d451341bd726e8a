"""ServiceAccount: every pod runs as an account and mounts its token.

Models kubernetes plugin/pkg/admission/serviceaccount/admission.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver_app.admission.plugin import (
    CREATE,
    SECURITY,
    SKIP,
    Attributes,
    Later,
    Ops,
    Plugin,
    Verdict,
    forbidden,
)
from apiserver_app.apis import podrefs
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object

DEFAULT = "default"
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
VOLUME_PREFIX = "kube-api-access-"
LOOKUPS_MAX = 10  # of the default account, which a controller creates soon
_MIRROR = "kubernetes.io/config.mirror"
_ENFORCE = "kubernetes.io/enforce-mountable-secrets"
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_SOURCES: list[Object] = [
    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    {
        "downwardAPI": {
            "items": [
                {
                    "path": "namespace",
                    "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                }
            ]
        }
    },
]


class ServiceAccount(Plugin):
    name = "ServiceAccount"
    concern = SECURITY
    resources = ("pods", "pods/ephemeralcontainers")
    mutates = True
    validates = True
    reads = ("serviceaccounts",)
    source = "plugin/pkg/admission/serviceaccount/admission.go"

    def admit(self, attributes: Attributes) -> Verdict:
        pod = attributes.obj
        if attributes.operation != CREATE or not attributes.on_pods or pod is None:
            return SKIP
        if _MIRROR in meta.annotations_of(pod):
            _check_mirror(attributes, pod)
            return Verdict("allow", "a mirror pod has no account")
        spec = pod["spec"]
        ops: Ops = []
        name = spec.get("serviceAccountName") or spec.get("serviceAccount")
        if not name:
            name = DEFAULT
        if spec.get("serviceAccountName") != name or spec.get("serviceAccount") != name:
            ops.append(_add("/spec/serviceAccountName", name))
            ops.append(_add("/spec/serviceAccount", name))
        account = _account(attributes, name)
        if _automounts(account, spec):
            ops += _mount(attributes, spec)
        pull = account.get("imagePullSecrets")
        if pull and not spec.get("imagePullSecrets"):
            ops.append(
                _add("/spec/imagePullSecrets", [{"name": secret["name"]} for secret in pull])
            )
        if _enforces(account):
            used = spec.get("imagePullSecrets") or pull or []
            _check_secrets(attributes, account, {**spec, "imagePullSecrets": used})
        if not ops:
            return Verdict("allow", f"runs as {name}, nothing to add")
        return Verdict("change", f"runs as {name}: {len(ops)} changes", ops)

    def validate(self, attributes: Attributes) -> Verdict:
        pod = attributes.obj
        if pod is None:
            return SKIP
        name = pod["spec"].get("serviceAccountName", "")
        if attributes.subresource:
            return self._validate_ephemeral(attributes, pod, name)
        if attributes.operation != CREATE:
            return SKIP
        if _MIRROR in meta.annotations_of(pod):
            _check_mirror(attributes, pod)
            return Verdict("allow", "a mirror pod has no account")
        if not name:
            raise _no_account(attributes, pod)
        account = _account(attributes, name)
        if _enforces(account):
            _check_secrets(attributes, account, pod["spec"])
        return Verdict("allow", f"account {name} exists")

    def _validate_ephemeral(self, attributes: Attributes, pod: Object, name: str) -> Verdict:
        if not name:
            raise _no_account(attributes, pod)
        account = _account(attributes, name)
        if not _enforces(account):
            return Verdict("allow", "the account may use any secret")
        allowed = {secret.get("name") for secret in account.get("secrets") or ()}
        containers = pod["spec"].get("ephemeralContainers") or ()
        _check_containers(attributes, "ephemeral container", containers, allowed, account)
        return Verdict("allow", "only secrets of the account are used")


def _add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def _no_account(attributes: Attributes, pod: Object) -> Exception:
    pod_key = f"{attributes.namespace}/{meta.name_of(pod)}"
    return forbidden(attributes, f"no service account specified for pod {pod_key}")


def _account(attributes: Attributes, name: str) -> Object:
    """Returns the account; waits for the default one, which a controller creates in a new
    namespace."""
    account = attributes.reader.get("serviceaccounts", attributes.namespace, name)
    if account is not None:
        return account
    error = forbidden(
        attributes,
        f"error looking up service account {attributes.namespace}/{name}: "
        f'serviceaccount "{name}" not found',
    )
    if name == DEFAULT and attributes.run.attempt < LOOKUPS_MAX - 1:
        raise Later(int(attributes.rand.uniform(100_000, 200_000)), error)
    raise error


def _automounts(account: Object, spec: Object) -> bool:
    """Reads automountServiceAccountToken of the pod, else of the account; the default is true."""
    for source in (spec, account):
        setting = source.get("automountServiceAccountToken")
        if setting is not None:
            return bool(setting)
    return True


def _mount(attributes: Attributes, spec: Object) -> Ops:
    volumes = spec.get("volumes") or ()
    volume = next((v["name"] for v in volumes if v["name"].startswith(VOLUME_PREFIX)), "")
    name = volume or VOLUME_PREFIX + attributes.rand.suffix()
    mount = {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}
    ops: Ops = []
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            mounts = container.get("volumeMounts")
            path = f"/spec/{field}/{index}/volumeMounts"
            if not mounts:
                ops.append(_add(path, [mount]))
            elif not any(existing.get("mountPath") == MOUNT_PATH for existing in mounts):
                ops.append(_add(f"{path}/-", mount))
    if ops and not volume:
        source = {"sources": _SOURCES, "defaultMode": 420}
        token_volume = {"name": name, "projected": source}
        ops.append(
            _add("/spec/volumes/-", token_volume)
            if volumes
            else _add("/spec/volumes", [token_volume])
        )
    return ops


def _check_mirror(attributes: Attributes, pod: Object) -> None:
    spec = pod["spec"]
    if spec.get("serviceAccountName"):
        raise forbidden(attributes, "a mirror pod may not reference service accounts")
    bare = {"metadata": {}, "spec": spec}
    if any(kind == "secrets" for kind, _ in podrefs.pod_refs(bare)):
        raise forbidden(attributes, "a mirror pod may not reference secrets")
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if source.get("serviceAccountToken"):
                raise forbidden(
                    attributes, "a mirror pod may not use ServiceAccountToken volume projections"
                )


# -- the account may say that only its own secrets are mounted ----------------------------------


def _enforces(account: Object) -> bool:
    return meta.annotations_of(account).get(_ENFORCE) in _TRUE


def _check_secrets(attributes: Attributes, account: Object, spec: Object) -> None:
    name = meta.name_of(account)
    allowed = {secret.get("name") for secret in account.get("secrets") or ()}
    for volume in spec.get("volumes") or ():
        secret = (volume.get("secret") or {}).get("secretName")
        if secret and secret not in allowed:
            raise forbidden(
                attributes,
                f'volume with secret.secretName="{secret}" is not allowed because service '
                f"account {name} does not reference that secret",
            )
    for field, label in (("initContainers", "init container"), ("containers", "container")):
        _check_containers(attributes, label, spec.get(field) or (), allowed, account)
    pull = {secret.get("name") for secret in account.get("imagePullSecrets") or ()}
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if secret.get("name") not in pull:
            raise forbidden(
                attributes,
                f'imagePullSecrets[{index}].name="{secret.get("name")}" is not allowed because '
                f"service account {name} does not reference that imagePullSecret",
            )


def _check_containers(
    attributes: Attributes, label: str, containers: Any, allowed: set[Any], account: Object
) -> None:
    for container in containers:
        for where, secret in _container_secrets(container):
            if secret not in allowed:
                raise forbidden(
                    attributes,
                    f"{label} {container['name']} with {where} referencing "
                    f'secret.secretName="{secret}" is not allowed because service account '
                    f"{meta.name_of(account)} does not reference that secret",
                )


def _container_secrets(container: Object) -> Iterator[tuple[str, str]]:
    for variable in container.get("env") or ():
        ref = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if ref:
            yield f"envVar {variable['name']}", ref.get("name", "")
    for source in container.get("envFrom") or ():
        if source.get("secretRef"):
            yield "envFrom", source["secretRef"].get("name", "")
