"""What a cluster starts only when there is something for it to do, and not before it has booted."""

from __future__ import annotations

from collections.abc import Callable

from apiserver_app.aggregator import availability, registration
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.machinery import errors
from apiserver_app.registry.apiextensions.served import Definitions
from apiserver_app.registry.apiregistration import apiservices
from controllers_app.runtime.component import Component
from lifecycle.cluster.clients import Clients


class AfterBoot:
    """One such part: it starts once, at the boot or when there is first something to do."""

    def __init__(self) -> None:
        self._start: Callable[[], None] | None = None

    def needed(self) -> None:
        """There is something to do. Before the boot nothing happens: `booted` starts it then."""
        start, self._start = self._start, None
        if start is not None:
            start()

    def booted(self, start: Callable[[], None], *, is_needed: bool) -> None:
        """From now on it may start; at once when it is needed already."""
        self._start = start
        if is_needed:
            self.needed()


class Followers:
    """What keeps up with what is served besides the built-in kinds. It has nothing to do before
    there is a definition, or a remote APIService, and starts with the first."""

    def __init__(self) -> None:
        self.definitions, self.remote_services = AfterBoot(), AfterBoot()

    def booted(
        self,
        cluster: ClusterContext,
        clients: Clients,
        definitions: Definitions,
        controllers: Component,
    ) -> None:
        """`controllers`: those of the definitions."""

        def follow_definitions() -> None:
            controllers.start()
            client = clients.loopback(apiservices.AGGREGATOR)
            task = registration.follow_definitions(client, cluster.cache)
            cluster.kernel.spawn("crd-autoregistration", task, span=0)

        def check_availability() -> None:
            client = clients.loopback(availability.NAME)
            dependencies = availability.Dependencies(
                client,
                cluster.cache,
                services,
                cluster.egress.outbound,
                cluster.kernel,
                cluster.probe,
                cluster.aggregation.front_proxy,
            )
            availability.Availability(dependencies).start()

        services = cluster.aggregation.services
        self.definitions.booted(follow_definitions, is_needed=len(definitions) > 0)
        self.remote_services.booted(check_availability, is_needed=bool(services.remote))
        cluster.kernel.spawn("kube-apiserver-autoregistration", _register(cluster, clients), span=0)


async def _register(cluster: ClusterContext, clients: Clients) -> None:
    if apiservices.KEY not in cluster.resources.by_key:
        return
    client = clients.loopback(apiservices.AGGREGATOR)
    try:
        await registration.ensure(client, cluster.resources, cluster.cache)
    except errors.ApiError:  # the server's own plugins refuse: it continues without them
        return
    cluster.aggregation.services.registered()
