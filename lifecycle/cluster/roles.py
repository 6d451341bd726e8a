"""The roles of a cluster that Channels consumers start, stop, fail and wake: controllers,
scheduler, kubelet. Each is a handful of components with identities of their own.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.admission.typechecking import TypeChecker
from apiserver_app.auth import signing
from apiserver_app.auth import tokens as jwt
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.machinery.releases import Release
from controllers_app import controllermanager
from controllers_app.containerruntime.hosts import Hosts
from controllers_app.kubelet import component as kubelet
from controllers_app.kubelet.server.nodes import KubeletServers
from controllers_app.roles import ACTIONS, CONTROLLERS, KUBELET, SCHEDULER
from controllers_app.runtime.component import Component
from controllers_app.scheduler import component as scheduler
from controllers_app.scheduler import flags as scheduler_flags
from lifecycle.cluster.clients import Clients
from lifecycle.cluster.inputs import Inputs, pod_range


class Role:
    """Components that are started and stopped together, or one by one by name."""

    def __init__(self, name: str, components: list[Component], *, first_only: bool = False) -> None:
        self.first_only = first_only
        self.name = name
        self.components = {component.name: component for component in components}

    def act(self, action: str, component: str = "") -> None:
        """Do it to every component, or to one. What it is already doing is no error."""
        if action not in ACTIONS:
            raise ValueError(f'a role can be asked to {", ".join(ACTIONS)}, not to "{action}"')
        if component and component not in self.components:
            known = ", ".join(sorted(self.components))
            raise ValueError(f'no component "{component}" in role {self.name}; there are: {known}')
        chosen = [self.components[component]] if component else list(self.components.values())
        if action in ("start", "wake") and not component and self.first_only:
            chosen = chosen[:1]  # it starts the others once it leads
        for each in chosen:
            running = each.state == "running"
            if action in ("start", "wake") and not running:
                each.start()
            elif action == "stop" and running:
                each.stop()
            elif action == "fail" and running:
                each.fail()

    def states(self) -> dict[str, str]:
        return {name: component.state for name, component in self.components.items()}


def runs(built: dict[str, Role], name: str) -> bool:
    """Whether a component runs, by the name of its ComponentStatus."""
    role = {"scheduler": SCHEDULER, "controller-manager": CONTROLLERS}.get(name)
    return role is None or next(iter(built[role].components.values())).state == "running"


def control_plane(
    inputs: Inputs, context: ClusterContext, clients: Clients, tokens: jwt.Tokens
) -> dict[str, Role]:
    """Controllers and scheduler."""
    kernel, probe, rand, version = context.kernel, context.probe, context.rand, context.version
    manager = controllermanager.ControllerManager(
        kernel,
        probe,
        rand,
        clients.manager(controllermanager.NAME),
        clients.account,
        version=version,
        root_ca=inputs.ca_pem,
        authority=signing.ClusterAuthority(inputs.ca_pem, inputs.ca_key, tokens),
        check_types=TypeChecker(
            version, context.resources, context.types, context.kernel.pause
        ).check,
        config=context.resources.config,
        cluster_cidr=pod_range(inputs.nodes),
    )
    chooser = scheduler.build(
        kernel,
        probe,
        rand,
        clients.scheduler(scheduler.NAME),
        version=version,
        host=inputs.machine(1).name,
        given=inputs.options.get("scheduler", scheduler_flags.NONE),
    )
    return {
        CONTROLLERS: Role(CONTROLLERS, manager.components, first_only=True),
        SCHEDULER: Role(SCHEDULER, [chooser]),
    }


def kubelets(
    inputs: Inputs, context: ClusterContext, hosts: Hosts, servers: KubeletServers, clients: Clients
) -> dict[str, Role]:
    """One a node, on the container runtime of its host."""
    nodes = []
    for number in range(1, inputs.nodes + 1):
        name, address = inputs.machine(number)
        client = clients.kubelet(name, (50, 100) if context.version.minor >= 27 else (5, 10))
        nodes.append(
            kubelet.build(
                context.kernel,
                context.probe,
                context.rand,
                client,
                name,
                number,
                address=address,
                hosts=hosts,
                servers=servers,
                manifests=inputs.options.get("manifests", {}).get(name),
                **_kubelet(inputs),
            )
        )
    return {KUBELET: Role(KUBELET, nodes)}


def _kubelet(inputs: Inputs) -> dict[str, Any]:
    return {"version": Release.parse(inputs.version), **inputs.options.get("kubelet", {})}
