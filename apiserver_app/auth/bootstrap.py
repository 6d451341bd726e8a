"""The objects a new cluster contains before anybody uses it.

Namespaces, the default RBAC policy, priority classes, flow control, the `kubernetes` Service, the
controllers' service accounts, and the cast of a classroom. Objects are complete but for what only
the store knows (uid, creationTimestamp, resourceVersion). Never writes anything itself.

Models kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy, pkg/registry/rbac/rest,
pkg/registry/flowcontrol/rest, pkg/controlplane/controller and what kubeadm leaves behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apiserver_app.apis import servicenet
from apiserver_app.auth.data import cast, cluster_roles, controller_roles, flow_control
from apiserver_app.auth.data import joining as joins
from apiserver_app.auth.data.notation import rules
from apiserver_app.machinery import meta, releases
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release

SECURE_PORT = 6443
ADVERTISED_IP = "10.0.0.11"  # the control plane's, which runs on the first node
SYSTEM_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")

_RBAC = "rbac.authorization.k8s.io"
_AGGREGATE = f"{_RBAC}/aggregate-to-"
_FLOW = "flowcontrol.apiserver.k8s.io"
_FLOW_VERSIONS = (
    (Release(29), "v1"),
    (Release(26), "v1beta3"),
    (Release(23), "v1beta2"),
    (Release(20), "v1beta1"),
)
_CRITICAL = 2_000_000_000

Item = tuple[str, str, Object]  # resource key, namespace, object


def objects(
    version: Release = releases.DEFAULT,
    now: int = 0,
    *,
    client_ca: str = "",
    net: servicenet.ServiceNet = servicenet.DEFAULT,
    address: str = ADVERTISED_IP,
) -> list[Item]:
    """Returns every object in order of creation. `now` stamps conditions (µs since 1970);
    `client_ca` is the PEM of the CA that signs clients, published in kube-system; `net` assigns
    service addresses; the server is reached at `address`."""
    items = [*_namespaces(), *_cluster_roles(version), *_cluster_bindings(version)]
    items += [*_namespaced_policy(), *_accounts(version), *_priority_classes()]
    items += [*priority_and_fairness(version, now), *_networking(version, now, net)]
    items += _endpoints(address)
    items += [*_config_maps(version, now, client_ca), *_classroom()]
    return items


def _object(api_version: str, kind: str, metadata: Object, **fields: object) -> Object:
    return {"kind": kind, "apiVersion": api_version, "metadata": metadata, **fields}


def _namespaces() -> Iterator[Item]:
    for name in SYSTEM_NAMESPACES:
        yield "namespaces", "", _namespace(name)


def _namespace(name: str) -> Object:
    return _object(
        "v1",
        "Namespace",
        {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        spec={"finalizers": ["kubernetes"]},
        status={"phase": "Active"},
    )


# -- RBAC ---------------------------------------------------------------------------------------


def _default_metadata(name: str, namespace: str = "", **labels: str) -> Object:
    metadata: Object = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata["labels"] = {"kubernetes.io/bootstrapping": "rbac-defaults", **labels}
    metadata["annotations"] = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
    return metadata


def _controllers(version: Release) -> list[str]:
    since = controller_roles.SINCE
    return [name for name in controller_roles.CONTROLLERS if version >= since.get(name, Release(0))]


def _cluster_roles(version: Release) -> Iterator[Item]:
    resource = f"clusterroles.{_RBAC}"
    plain = {name: rules(lines) for name, lines in cluster_roles.ROLES.items()}
    for name in reversed(cluster_roles.AGGREGATED):
        plain[name] = _aggregate(name, plain)
    for name in sorted(plain):
        target = cluster_roles.AGGREGATES_TO.get(name)
        labels = {f"{_AGGREGATE}{target}": "true"} if target else {}
        role = _object(f"{_RBAC}/v1", "ClusterRole", _default_metadata(name, "", **labels))
        role["rules"] = plain[name]
        if name in cluster_roles.AGGREGATED:
            selector = {"matchLabels": {f"{_AGGREGATE}{name}": "true"}}
            role["aggregationRule"] = {"clusterRoleSelectors": [selector]}
        yield resource, "", role
    for account in _controllers(version):
        name = f"{controller_roles.PREFIX}{account}"
        role = _object(f"{_RBAC}/v1", "ClusterRole", _default_metadata(name))
        role["rules"] = rules(controller_roles.CONTROLLERS[account])
        yield resource, "", role


def _aggregate(name: str, plain: dict[str, list[Object]]) -> list[Object]:
    """Returns the rules of the roles labelled for it, by name, each rule once, as the aggregation
    controller would leave them."""
    out: list[Object] = []
    for source in sorted(cluster_roles.AGGREGATES_TO):
        if cluster_roles.AGGREGATES_TO[source] == name:
            out += [rule for rule in plain[source] if rule not in out]
    return out


def _binding(kind: str, metadata: Object, role: tuple[str, str], subjects: Sequence[str]) -> Object:
    binding = _object(f"{_RBAC}/v1", kind, metadata)
    if subjects:
        binding["subjects"] = [_subject(text) for text in subjects]
    binding["roleRef"] = {"apiGroup": _RBAC, "kind": role[0], "name": role[1]}
    return binding


def joining(client_ca: str, address: str = ADVERTISED_IP) -> list[Item]:
    """Returns what kubeadm adds so that nodes may join with a bootstrap token."""
    data = {"kubeconfig": joins.kubeconfig(f"https://{address}:{SECURE_PORT}", client_ca)}
    named = {"name": joins.INFO, "namespace": joins.PUBLIC}
    items: list[Item] = [("configmaps", joins.PUBLIC, _object("v1", "ConfigMap", named, data=data))]
    for name, namespace, lines in (
        (joins.INFO_ROLE, joins.PUBLIC, joins.INFO_RULES),
        (joins.GET_NODES, "", joins.NODE_RULES),
    ):
        kind = "Role" if namespace else "ClusterRole"
        role = _object(f"{_RBAC}/v1", kind, {"name": name})
        if namespace:
            role["metadata"]["namespace"] = namespace
        role["rules"] = rules(lines)
        items.append((f"{kind.lower()}s.{_RBAC}", namespace, role))
    metadata = {"name": joins.INFO_ROLE, "namespace": joins.PUBLIC}
    binding = _binding("RoleBinding", metadata, ("Role", joins.INFO_ROLE), [joins.ANYBODY])
    items.append((f"rolebindings.{_RBAC}", joins.PUBLIC, binding))
    for name, (role_name, subject) in joins.BINDINGS.items():
        binding = _binding(
            "ClusterRoleBinding", {"name": name}, ("ClusterRole", role_name), [subject]
        )
        items.append((f"clusterrolebindings.{_RBAC}", "", binding))
    return items


def _subject(text: str) -> Object:
    kind, name = text.split(" ", 1)
    if kind == "ServiceAccount":
        namespace, name = name.split("/")
        return {"kind": kind, "name": name, "namespace": namespace}
    return {"kind": kind, "apiGroup": _RBAC, "name": name}


def _cluster_bindings(version: Release) -> Iterator[Item]:
    bindings = dict(cluster_roles.BINDINGS)
    for account in _controllers(version):
        subject = f"ServiceAccount kube-system/{account}"
        bindings[f"{controller_roles.PREFIX}{account}"] = (subject,)
    for name, subjects in bindings.items():
        yield (
            f"clusterrolebindings.{_RBAC}",
            "",
            _binding(
                "ClusterRoleBinding", _default_metadata(name), ("ClusterRole", name), subjects
            ),
        )


def _namespaced_policy() -> Iterator[Item]:
    for (namespace, name), lines in controller_roles.NAMESPACED_ROLES.items():
        role = _object(f"{_RBAC}/v1", "Role", _default_metadata(name, namespace))
        role["rules"] = rules(lines)
        yield f"roles.{_RBAC}", namespace, role
    for (namespace, name), (role_name, subjects) in controller_roles.NAMESPACED_BINDINGS.items():
        yield (
            f"rolebindings.{_RBAC}",
            namespace,
            _binding(
                "RoleBinding", _default_metadata(name, namespace), ("Role", role_name), subjects
            ),
        )


def _accounts(version: Release) -> Iterator[Item]:
    names = [n for n in _controllers(version) if n not in controller_roles.NO_ACCOUNT]
    for name in sorted([*names, *controller_roles.EXTRA_ACCOUNTS]):
        metadata = {"name": name, "namespace": "kube-system"}
        yield "serviceaccounts", "kube-system", _object("v1", "ServiceAccount", metadata)


def _classroom() -> Iterator[Item]:
    yield "namespaces", "", _namespace(cast.STUDENT_NAMESPACE)
    for name, (role, group) in cast.CLUSTER_BINDINGS.items():
        yield (
            f"clusterrolebindings.{_RBAC}",
            "",
            _binding(
                "ClusterRoleBinding", {"name": name}, ("ClusterRole", role), [f"Group {group}"]
            ),
        )
    for (namespace, name), (role, group) in cast.BINDINGS.items():
        metadata = {"name": name, "namespace": namespace}
        yield (
            f"rolebindings.{_RBAC}",
            namespace,
            _binding("RoleBinding", metadata, ("ClusterRole", role), [f"Group {group}"]),
        )


# -- priority and flow control ------------------------------------------------------------------


def _priority_classes() -> Iterator[Item]:
    described = (
        (
            "system-cluster-critical",
            _CRITICAL,
            "Used for system critical pods that must run in the cluster, but can be moved to "
            "another node if necessary.",
        ),
        (
            "system-node-critical",
            _CRITICAL + 1000,
            "Used for system critical pods that must not be moved from their current node.",
        ),
    )
    for name, value, description in described:
        yield (
            "priorityclasses.scheduling.k8s.io",
            "",
            _object(
                "scheduling.k8s.io/v1",
                "PriorityClass",
                {"name": name, "generation": 1},
                value=value,
                description=description,
                preemptionPolicy="PreemptLowerPriority",
            ),
        )


def _flow_version(version: Release) -> str:
    for since, served in _FLOW_VERSIONS:
        if version >= since:
            return f"{_FLOW}/{served}"
    return ""  # no flow schemas are served


def _flow_metadata(name: str) -> Object:
    annotations = {"apf.kubernetes.io/autoupdate-spec": "true"}
    return {"name": name, "generation": 1, "annotations": annotations}


def priority_and_fairness(version: Release, now: int) -> list[Item]:
    """Returns the priority levels, then the flow schemas."""
    return [*_levels(version), *_schemas(version, now)]


def _levels(version: Release) -> Iterator[Item]:
    shares_name = (
        "nominalConcurrencyShares" if version >= Release(26) else "assuredConcurrencyShares"
    )
    for name, level in flow_control.LEVELS.items():
        share: Object = {shares_name: level.shares}
        if version >= Release(26):
            share["lendablePercent"] = level.lendable_percent
        if name == flow_control.EXEMPT:
            spec: Object = {"type": "Exempt"}
            if version >= Release(28):
                spec["exempt"] = share
        else:
            share["limitResponse"] = _limit_response(level)
            spec = {"type": "Limited", "limited": share}
        yield (
            f"prioritylevelconfigurations.{_FLOW}",
            "",
            _object(
                _flow_version(version),
                "PriorityLevelConfiguration",
                _flow_metadata(name),
                spec=spec,
                status={},
            ),
        )


def _limit_response(level: flow_control.Level) -> Object:
    if level.queues is None:
        return {"type": "Reject"}
    queues, hand_size, limit = level.queues
    queuing = {"queues": queues, "handSize": hand_size, "queueLengthLimit": limit}
    return {"type": "Queue", "queuing": queuing}


def _schemas(version: Release, now: int) -> Iterator[Item]:
    for name, schema in flow_control.SCHEMAS.items():
        if version < flow_control.SINCE.get(name, Release(0)):
            continue
        spec: Object = {
            "priorityLevelConfiguration": {"name": schema.level},
            "matchingPrecedence": schema.precedence,
        }
        if schema.distinguisher:
            spec["distinguisherMethod"] = {"type": schema.distinguisher}
        spec["rules"] = [_flow_rules(schema)]
        message = (
            "This FlowSchema references the PriorityLevelConfiguration object named "
            f'"{schema.level}" and it exists'
        )
        dangling = {
            "type": "Dangling",
            "status": "False",
            "lastTransitionTime": meta.rfc3339(now),
            "reason": "Found",
            "message": message,
        }
        yield (
            f"flowschemas.{_FLOW}",
            "",
            _object(
                _flow_version(version),
                "FlowSchema",
                _flow_metadata(name),
                spec=spec,
                status={"conditions": [dangling]},
            ),
        )


def _flow_rules(schema: flow_control.Schema) -> Object:
    out: Object = {"subjects": [_flow_subject(text) for text in schema.subjects]}
    for line in schema.rules:
        columns = [column.split() for column in line.split("|")]
        if columns[1] == ["url"]:
            rule: Object = {"verbs": columns[0], "nonResourceURLs": columns[2]}
            out.setdefault("nonResourceRules", []).append(rule)
            continue
        rule = {
            "verbs": columns[0],
            "apiGroups": ["" if group == "core" else group for group in columns[1]],
            "resources": columns[2],
        }
        if columns[-1] == ["cluster"]:
            rule["clusterScope"] = True
        rule["namespaces"] = ["*"]
        out.setdefault("resourceRules", []).append(rule)
    return out


def _flow_subject(text: str) -> Object:
    kind, name = text.split(" ", 1)
    if kind == "ServiceAccount":
        namespace, name = name.split("/")
        return {"kind": kind, "serviceAccount": {"namespace": namespace, "name": name}}
    return {"kind": kind, kind.lower(): {"name": name}}


# -- the API server's own objects ---------------------------------------------------------------


def _networking(version: Release, now: int, net: servicenet.ServiceNet) -> Iterator[Item]:
    if version >= Release(33):
        ready = {
            "type": "Ready",
            "status": "True",
            "lastTransitionTime": meta.rfc3339(now),
            "reason": "",
            "message": "Kubernetes default Service CIDR is ready",
        }
        yield (
            "servicecidrs.networking.k8s.io",
            "",
            _object(
                "networking.k8s.io/v1",
                "ServiceCIDR",
                {"name": "kubernetes"},
                spec={"cidrs": [str(net.cidr)]},
                status={"conditions": [ready]},
            ),
        )
    labels = {"component": "apiserver", "provider": "kubernetes"}
    port = {"name": "https", "protocol": "TCP", "port": 443, "targetPort": SECURE_PORT}
    yield (
        "services",
        "default",
        _object(
            "v1",
            "Service",
            {"name": "kubernetes", "namespace": "default", "labels": labels},
            spec={
                "ports": [port],
                "clusterIP": net.apiserver,
                "clusterIPs": [net.apiserver],
                "type": "ClusterIP",
                "sessionAffinity": "None",
                "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack",
                "internalTrafficPolicy": "Cluster",
            },
            status={"loadBalancer": {}},
        ),
    )


def _endpoints(address: str) -> Iterator[Item]:
    """Returns the endpoints of the `kubernetes` Service: the server itself, as its reconciler
    publishes them."""
    metadata = {"name": "kubernetes", "namespace": "default"}
    mirrored = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    port = {"name": "https", "port": SECURE_PORT, "protocol": "TCP"}
    yield (
        "endpoints",
        "default",
        _object(
            "v1",
            "Endpoints",
            {**metadata, "labels": mirrored},
            subsets=[{"addresses": [{"ip": address}], "ports": [port]}],
        ),
    )
    yield (
        "endpointslices.discovery.k8s.io",
        "default",
        _object(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            {**metadata, "labels": {"kubernetes.io/service-name": "kubernetes"}},
            addressType="IPv4",
            endpoints=[{"addresses": [address], "conditions": {"ready": True}}],
            ports=[port],
        ),
    )


def _config_maps(version: Release, now: int, client_ca: str) -> Iterator[Item]:
    contents: dict[str, dict[str, str]] = {}
    if client_ca:
        contents["extension-apiserver-authentication"] = {"client-ca-file": client_ca}
    if version >= Release(27):
        contents["kube-apiserver-legacy-service-account-token-tracking"] = {
            "since": meta.rfc3339(now)[:10]
        }
    for name, data in contents.items():
        metadata = {"name": name, "namespace": "kube-system"}
        yield "configmaps", "kube-system", _object("v1", "ConfigMap", metadata, data=data)
