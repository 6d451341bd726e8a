"""What the handlers of one cluster share: its store, types, gates and identity of time and chance.

Built once by the composition root; everything in it lives as long as the cluster runs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec

from apiserver_app.admission.chain import Chain
from apiserver_app.admission.plugin import ObjectInterfaces
from apiserver_app.apis import servicenet
from apiserver_app.auditing.auditor import Auditor
from apiserver_app.auth.authn import union as authn_union
from apiserver_app.auth.authz import union as authz_union
from apiserver_app.auth.bootstrap import SECURE_PORT
from apiserver_app.egress.outbound import Outbound
from apiserver_app.etcd import wal
from apiserver_app.etcd.life import Life as EtcdLife
from apiserver_app.etcd.mvcc import Store
from apiserver_app.handlers import decision
from apiserver_app.handlers.server.counters import Counters
from apiserver_app.handlers.server.life import Life
from apiserver_app.machinery import errors
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.kinds.kinds import Resources
from apiserver_app.machinery.meta import Object, ResourceInfo, User
from apiserver_app.machinery.net.nodeapi import Nodes
from apiserver_app.machinery.probe import GateProbe
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import fields, labels
from apiserver_app.machinery.types.scheme import Types
from apiserver_app.registry.apiregistration.apiservices import Services
from apiserver_app.registry.core.service import ips
from apiserver_app.registry.core.service.ranges import Ranges
from apiserver_app.registry.generic import Selection, Storage
from apiserver_app.registry.strategy import Context, Strategies, Strategy
from apiserver_app.registry.watchcache import WatchCache


class FlowControl(Protocol):
    def admit(self, request: Any) -> decision.Decision | Awaitable[decision.Decision]:
        """Lets the request in, at once or after a wait, and sets its `seats`, whose level takes
        them back when it is answered; 429 when there are none."""
        ...

    def refresh(self) -> None:
        """Follow the configuration objects now."""
        ...

    async def lend(self) -> None:
        """Let levels lend each other seats, for as long as the server runs."""
        ...

    @property
    def levels(self) -> Mapping[str, Any]:
        """Priority levels by name."""
        ...

    @property
    def tallies(self) -> Mapping[tuple[str, str], Any]:
        """What was counted of each flow schema, by level and schema."""
        ...

    @property
    def fair_fraction(self) -> float:
        """How much of what it could use each level gets."""
        ...


class Access(msgspec.Struct):
    """Who somebody is, and what they may."""

    authentication: authn_union.Union
    authorization: authz_union.Union
    # beginnings of the header names by which a front proxy says whom it speaks for, lower-case
    proxy_headers: tuple[str, ...]


class Admission(msgspec.Struct):
    chain: Chain
    interfaces: ObjectInterfaces  # of plugins that ask others


class Egress(msgspec.Struct):
    """The server's ways to others."""

    outbound: Outbound
    nodes: Nodes
    loopback: Callable[[], Client]  # to itself


class Aggregation(msgspec.Struct):
    services: Services
    front_proxy: tuple[str, str]  # the aggregator's certificate and key, PEM


class ServiceAddresses(msgspec.Struct):
    """Where the server is reached, and where services get addresses and ports."""

    advertised: str  # of --advertise-address

    net: servicenet.ServiceNet
    ranges: Ranges
    # what services that are about to be stored are to hold
    reserved: list[set[ips.Held]] = msgspec.field(default_factory=list)

    @property
    def endpoint(self) -> str:
        return f"{self.advertised}:{SECURE_PORT}"


class ServiceAccountTokens(msgspec.Struct):
    issue: Callable[[Object, Object, int], Object]
    seconds_max: int  # of --service-account-max-token-expiration; 0: no limit
    jwks: Callable[[], Object]
    openid: Callable[[], Object]


class Options(msgspec.Struct):
    """What flags and version switch."""

    server_id: str  # what this API server is called among others
    features: frozenset[str]  # the feature gates that are on
    manages_fields: bool  # whether objects tell who set which of their fields
    profiling: bool  # whether /debug/pprof and the reset of metrics are served
    sync: int = wal.SYNC  # µs that etcd's disk takes for a batch of its log


class Process(msgspec.Struct):
    """The process around the server."""

    is_ready: Callable[[], bool]
    # of a component by the name that its status has
    component_runs: Callable[[str], bool]
    # called with what must not happen: (where, error)
    on_bug: Callable[[str, BaseException], None]


class ClusterContext(msgspec.Struct):
    """One cluster's API server, as its handlers see it."""

    name: str
    version: Release
    options: Options
    kernel: Kernel
    probe: GateProbe
    rand: Rand
    # what is stored
    etcd: EtcdLife
    store: Store
    cache: WatchCache
    storage: Storage
    # what is served
    resources: Resources
    types: Types
    strategies: Strategies
    # what the gates ask
    access: Access
    flow: FlowControl
    admission: Admission
    audit: Auditor | None
    # whom the server reaches, and what it gives away
    egress: Egress
    aggregation: Aggregation
    addresses: ServiceAddresses
    tokens: ServiceAccountTokens
    # how it runs
    process: Process
    life: Life
    counters: Counters

    def strategy(self, info: ResourceInfo) -> Strategy:
        return self.strategies[info.gvr]

    def context(
        self, user: User, namespace: str, subresource: str = "", *, dry_run: bool = False
    ) -> Context:
        return Context(
            self.kernel.now,
            self.version,
            self.rand,
            self.cache,
            user,
            namespace,
            subresource,
            self.addresses.net,
            dry_run,
        )

    def verbs_of(self, info: ResourceInfo, subresource: str) -> tuple[str, ...]:
        """What may be done; nothing for a subresource that is not served."""
        if not subresource:
            return info.verbs
        return self.resources.subresource_verbs(info, subresource)

    def selection(
        self, info: ResourceInfo, namespace: str, label_text: str, field_text: str, name: str = ""
    ) -> Selection:
        """Parsed selectors; 400 in upstream's words when they do not parse.

        A name, which the request was authorized for, selects that object only. Models
        staging/src/k8s.io/apiserver/pkg/endpoints/handlers/get.go (ListResource).
        """
        by_label = labels.parse(label_text) if label_text else None
        by_field = fields.parse(field_text) if field_text else None
        if by_field is not None:
            strategy = self.strategy(info)
            for path in by_field.paths():
                why = strategy.field_refusal(path)
                if why:
                    raise errors.bad_request(why)
        if name and (by_field is None or by_field.empty):
            by_field = fields.exactly("metadata.name", name)
        elif name and by_field is not None and by_field.exact("metadata.name") != name:
            raise errors.bad_request("fieldSelector metadata.name doesn't match requested name")
        return Selection(namespace if info.namespaced else "", by_label, by_field)
