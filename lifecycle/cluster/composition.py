"""The composition root: the only place that wires store, kernel, probe, gates and components.

What a cluster is given from outside is in its Inputs; everything else follows from those. Nothing
here decides anything.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from apiserver_app import authenticators, bootstrap
from apiserver_app.admission import chain
from apiserver_app.auth import issuer, reviewing, tokenrequests
from apiserver_app.auth.authn import legacy_account
from apiserver_app.auth.authz import config as authz_config
from apiserver_app.egress import carriers, outbound
from apiserver_app.etcd import lease as leases
from apiserver_app.etcd import life as etcdlife
from apiserver_app.etcd import mvcc, wal
from apiserver_app.etcd import server as etcd
from apiserver_app.etcd.backend import Backend
from apiserver_app.etcd.members import Members
from apiserver_app.flowcontrol import classify, ensurer, statuses, workestimator
from apiserver_app.flowcontrol import control as flowcontrol
from apiserver_app.handlers import objectinterfaces
from apiserver_app.handlers.cluster import (
    Access,
    Admission,
    Aggregation,
    ClusterContext,
    Egress,
    FlowControl,
    Options,
    Process,
    ServiceAccountTokens,
    ServiceAddresses,
)
from apiserver_app.handlers.server import counters, reloading
from apiserver_app.handlers.server.life import Life
from apiserver_app.http import server as http
from apiserver_app.http import startup
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery import kernel as kernels
from apiserver_app.machinery.kinds import features, kinds, runtimeconfig
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types import scheme
from apiserver_app.pipeline import Pipeline
from apiserver_app.registry import generic, watchcache
from apiserver_app.registry import kinds as strategies
from apiserver_app.registry.apiextensions import served
from apiserver_app.registry.apiregistration import apiservices
from apiserver_app.registry.core.service import ranges
from apiserver_app.registry.limits import Limits
from controllers_app.apiextensions import component as extensions
from controllers_app.containerruntime.hosts import Dns, Hosts
from controllers_app.containerruntime.servers import ingressnginx, metricsserver
from controllers_app.cri import images
from controllers_app.kubelet.server.nodes import KubeletServers
from controllers_app.kubelet.volumes.contents import Contents
from controllers_app.kubelet.volumes.persistent import PersistentVolumes
from controllers_app.runtime.component import Component
from lifecycle.cluster import (
    clients,
    componentmetrics,
    configured,
    housekeeping,
    incluster,
    installed,
    readiness,
    roles,
)
from lifecycle.cluster.afterboot import Followers
from lifecycle.cluster.etcdvalues import Values
from lifecycle.cluster.inputs import Inputs
from lifecycle.cluster.rates import rates
from lifecycle.etcdctl import processes
from lifecycle.kubeadm import phases
from lifecycle.trace.recorder import Recorder

Ask = Callable[[str], None]
# "ready" with what the cluster is, "bug" and "log" with a text
Report = Callable[[str, Any], None]


class Cluster:
    """One cluster: its kernel, store, API server and components."""

    def __init__(
        self,
        inputs: Inputs,
        backend: Backend,
        report: Report = lambda kind, what: None,
        network: carriers.Network | None = None,
    ) -> None:
        """`network` is the way to programs outside of the simulation, if there is one."""
        state = backend.load()
        self.is_new = state is None
        if state is None:
            state = inputs.state()
        else:
            state.incarnation += 1
        self._report = report
        self._followers = Followers()
        self.audit_lines: list[bytes] = []  # that leave with the next commit
        self.inputs = inputs
        self.state = state
        self.version = Release.parse(state.version)
        self.name = state.name
        self.kernel = kernels.Kernel(
            state.now, on_crash=lambda task, error: self._bug(task.name, error)
        )
        self.kernel.steps = state.steps
        self.rand = Rand(state.rand)
        self.recorder = Recorder(self.kernel, epoch=state.epoch, seq=state.seq)
        self.store = mvcc.Store(backend)
        self.store.recover(state.revision, state.compacted, state.leases)
        self.features = configured.features_of(inputs.flags, self.version)
        served_versions = runtimeconfig.parse(inputs.flags.runtime_config, self.version)
        self.resources = kinds.Resources(self.version, served_versions)
        self.cache = watchcache.WatchCache(self.store, self.resources.all, self.recorder)
        self.cache.names_unreadable = features.UNSAFE_DELETION in self.features
        self.cache.hides_uninitialized = features.INITIALIZERS in self.features
        self.tokens = authenticators.signer(inputs.flags, inputs.service_account_key)
        key = inputs.service_account_key
        self._issuer = issuer.Issuer(key)
        self._loopback_token = hmac.new(key, b"loopback", hashlib.sha256).hexdigest()
        self.volumes = PersistentVolumes(self.kernel, self.cache.get, state.volumes)
        contents = Contents(self.kernel, self.cache.get, self.volumes)
        self.nodes = KubeletServers(contents)
        self.outbound = self._carriers(network)
        self.services = apiservices.Services(
            self.resources, self.cache, self._followers.remote_services.needed
        )
        self.clients = clients.Clients(self.version, self._loopback_token, rates(inputs.nodes))
        self.context = self._context()
        self.cache.start()
        self.definitions = self._served_definitions()
        self.definitions.start()
        self.services.start()
        self.etcd = self._etcd_server()
        self.pipeline = Pipeline(self.context)
        self.clients.connect(self.pipeline)
        self.reloads = self._reloads()
        self.server = http.Server(self.context, self.pipeline)
        control_plane = roles.control_plane(inputs, self.context, self.clients, self.tokens)
        self.hosts = self._hosts(contents, control_plane)
        self.roles = {
            **control_plane,
            **roles.kubelets(inputs, self.context, self.hosts, self.nodes, self.clients),
        }
        self.definition_controllers = self._definition_controllers()
        self._housekeeping = housekeeping.Housekeeping(
            self.context, self.etcd, self.clients.loopback(), self.recorder, inputs.machine(1).name
        )
        self.ready = False

    def _hosts(self, contents: Contents, control_plane: Mapping[str, roles.Role]) -> Hosts:
        """The container runtimes; containers reach the API server, and some images know etcd or
        components of the control plane."""
        metrics = componentmetrics.servers(control_plane, self.kernel, self.clients)
        apiserver = incluster.InCluster(self.kernel, self.server, self.context.life)
        ingress = ingressnginx.servers(
            apiserver, lambda *target: self.hosts.network.connect(*target)
        )
        return Hosts(
            self.kernel,
            self.cache.get,
            self.cache.list,
            contents,
            apiserver=apiserver,
            dns=Dns(
                self.inputs.flags.services.dns,
                phases.DNS if self.inputs.options.get("kubeadm") else None,
            ),
            tools=processes.tools(self.etcd),
            servers=(*metrics, metricsserver.server(self.nodes.node), *ingress),
        )

    # -- life -----------------------------------------------------------------------------------

    def start(self, ask: Ask | None = None) -> None:
        """Begin the boot. Behind it `ask` is called with the name of each role that is to run;
        without it they start at once. Runs when the kernel does."""
        detail = startup.summary(self.context, self.inputs.flags)
        self.recorder.tell("component", "apiserver", "starting", detail, span=0)
        if self.state.control.get("etcd") == etcdlife.STOPPED:
            self.context.etcd.start()
        self.kernel.spawn("boot", self._boot(ask or self._start_role))

    async def _boot(self, ask: Ask) -> None:
        loopback, state = self.clients.loopback(), self.state
        self.reloads.start()
        refusals = await bootstrap.ensure(
            loopback,
            self.version,
            state.epoch,
            self.inputs.ca_pem,
            self.resources.by_key.__contains__,
            self.inputs.flags.enable_bootstrap_token_auth,
            self.context.addresses.net,
            self.context.addresses.advertised,
        )
        detail: Object = {}
        if refusals:  # the server's own plugins refuse what it begins with
            detail = {"refused": len(refusals), "message": refusals[0]}
        self.recorder.tell("component", "apiserver", "synced", detail, span=0)
        self._followers.booted(
            self.context, self.clients, self.definitions, self.definition_controllers
        )
        for name in self.roles:
            ask(name)
        keeper = self.clients.own(statuses.AGENT)
        for followed in filter(self.resources.by_key.__contains__, statuses.FOLLOWED):
            task = statuses.follow(followed, keeper, self.cache, lambda: self.kernel.now)
            self.kernel.spawn(f"apf/{followed}", task, background=True)
        producer = self.clients.own(ensurer.AGENT)
        kept = ensurer.run(producer, self.cache, self.kernel, self.version, state.epoch)
        self.kernel.spawn("apf/keep", kept, background=True)
        self.kernel.spawn("apf/lend", self.context.flow.lend(), background=True)
        await self._housekeeping.start()
        await readiness.nodes_take_pods(self.kernel, self.cache, self.inputs.nodes)
        self.ready = True
        self._report("ready", self._info())
        if self.inputs.options.get("kubeadm"):
            init = installed.kubeadm(self.inputs, self.context, self.clients)
            self.kernel.spawn("kubeadm", init.run(), background=True)

    def _info(self) -> dict[str, Any]:
        return {
            "cluster": self.name,
            "version": self.state.version,
            "nodes": self.inputs.nodes,
            "seed": self.state.seed,
            "epoch": self.state.epoch,
            "seq": self.recorder.seq,
        }

    def _start_role(self, name: str) -> None:
        self.role(name, "start")

    def role(self, name: str, action: str, **details: Any) -> None:
        """start, stop, fail or wake a role: controllers, scheduler, kubelet."""
        self.roles[name].act(action, **details)

    def value_of(self, revision: int) -> bytes:
        """The bytes written at a revision of the slice that is about to be committed."""
        pending = self.store.pending
        if not pending:
            return b""
        row = pending[revision - pending[0].revision]
        return row.old_value if row.deleted and row.old_value else row.value

    # -- wiring ---------------------------------------------------------------------------------

    def _carriers(self, network: carriers.Network | None) -> carriers.Carriers:
        return carriers.Carriers(
            self.kernel,
            self.cache,
            self.rand,
            self.nodes,
            network,
            cluster_ca=self.inputs.ca_pem,
            image_certificate=self._image_certificate,
        )

    def _storage(self) -> generic.Storage:
        def lease_for_event() -> int:
            return leases.of_event(self.kernel.now)

        limits = Limits(**self.inputs.options.get("limits", {}))
        return generic.Storage(self.store, self.cache, self.recorder, lease_for_event, limits)

    def _context(self) -> ClusterContext:
        given, state = self.inputs.flags, self.state
        types = scheme.Types(self.version)
        stored = strategies.strategies(self.resources.all, self.resources.version)
        counting = counters.Counters()
        admitting = configured.admission(
            given,
            self.resources,
            self.features,
            self._make_namespace,
            self._write_quota,
            self.kernel,
        )
        return ClusterContext(
            name=state.name,
            version=self.version,
            options=self._options(),
            kernel=self.kernel,
            probe=self.recorder,
            rand=self.rand,
            store=self.store,
            cache=self.cache,
            storage=self._storage(),
            resources=self.resources,
            types=types,
            strategies=stored,
            access=Access(
                authenticators.build(given, self._surroundings()),
                authz_config.build(configured.authorization(given), self.cache, self._world()),
                authenticators.proxy_headers(given),
            ),
            flow=self._flow_control(),
            admission=Admission(
                chain.Chain(admitting, self.kernel.sleep),
                objectinterfaces.build(self.kernel, self.outbound, self.resources, types, stored),
            ),
            audit=configured.audit(
                given, self.audit_lines.append, self.outbound, self.kernel, self.recorder
            ),
            egress=Egress(self.outbound, self.nodes, self.clients.loopback),
            aggregation=Aggregation(
                self.services, (given.proxy_client_cert_file, given.proxy_client_key_file)
            ),
            addresses=ServiceAddresses(
                given.advertise_address,
                given.services,
                ranges.Ranges(self.store, self.version, given.services),
            ),
            tokens=ServiceAccountTokens(
                self._token_requests().issue,
                int(given.service_account_max_token_expiration),
                self.tokens.jwks,
                lambda: self.tokens.openid_configuration(
                    f"https://{self.context.addresses.endpoint}/openid/v1/jwks"
                ),
            ),
            process=Process(lambda: self.ready, self._runs, self._bug),
            etcd=etcdlife.Life(self.kernel, self.recorder),
            life=Life(
                self.kernel,
                self.recorder,
                given.shutdown_delay_duration,
                lambda: sum(counting.in_flight.values()),
                self.cache.end_others,
            ),
            counters=counting,
        )

    def _options(self) -> Options:
        return Options(
            server_id=housekeeping.identity_of(self.inputs.machine(1).name),
            features=self.features,
            manages_fields=self.version.has("ServerSideApply"),
            profiling=self.inputs.flags.profiling,
            sync=self.inputs.options.get("disk_sync", wal.SYNC),
        )

    def _flow_control(self) -> FlowControl:
        estimator = workestimator.Estimator(
            lambda info: self.store.count(info.etcd_prefix()), self.cache.watchers, self.version
        )
        return flowcontrol.build(
            self.inputs.flags,
            self.cache,
            self.kernel,
            estimator,
            served=classify.SCHEMAS in self.resources.by_key,
        )

    def _served_definitions(self) -> served.Definitions:
        return served.Definitions(
            self.resources,
            self.context.types,
            self.context.strategies,
            self.cache,
            self._followers.definitions.needed,
        )

    def _etcd_server(self) -> etcd.Server:
        def is_node(host: str) -> bool:
            numbers = range(1, self.inputs.nodes + 1)
            return any(self.inputs.machine(number).address == host for number in numbers)

        saved = self.state.control
        server = etcd.Server(
            self.inputs.name,
            self.version,
            self.store,
            self.kernel,
            self.rand,
            self.recorder,
            Values(self.context),
            Members(
                self.inputs.name,
                self.kernel,
                is_node,
                saved.get("members") or (),
                saved.get("leader") or (),
                self.inputs.machine(1),
            ),
            self.context.etcd,
        )
        leases.recover(server)
        server.life.on_start.append(lambda: leases.promote(server))
        return server

    def _runs(self, name: str) -> bool:
        return roles.runs(self.roles, name)

    def _reloads(self) -> reloading.Reloads:
        given, access = self.inputs.flags, self.context.access
        return reloading.Reloads(
            reloading.Server(
                given,
                access.authentication,
                access.authorization,
                self._surroundings(),
                configured.authorization(given),
                self._world(),
                self.context.counters,
                self.recorder,
                lambda line: self._report("log", f"kube-apiserver: {line}"),
            )
        )

    def _world(self) -> reviewing.Transport:
        return reviewing.Transport(self.outbound.call, lambda: self.kernel.now, self.kernel.sleep)

    def _surroundings(self) -> authenticators.Dependencies:
        return authenticators.Dependencies(
            kernel=self.kernel,
            reader=self.cache,
            tokens=self.tokens,
            ca_pem=self.inputs.ca_pem,
            version=self.version,
            loopback_token=self._loopback_token,
            mark_used=self._mark_used,
            ask=self._ask,
        )

    def _token_requests(self) -> tokenrequests.TokenRequests:
        given = self.inputs.flags
        return tokenrequests.TokenRequests(
            self.tokens,
            self.cache,
            self.rand,
            authenticators.audiences(given),
            given.service_account_extend_token_expiration,
        )

    async def _ask(self, call: outbound.Call) -> outbound.Answer:
        """The simulated issuer answers for itself, others over the way out."""
        return self._issuer.answer(call) or await self.outbound.call(call)

    def _mark_used(self, namespace: str, secret: str, day: str) -> None:
        """Write on a Secret that its token was used today."""
        task = self._write_used(namespace, secret, day)
        self.kernel.spawn(f"apiserver/last-used/{namespace}/{secret}", task, span=0)

    async def _write_used(self, namespace: str, secret: str, day: str) -> None:
        patch = {"metadata": {"labels": {legacy_account.LAST_USED: day}}}
        with contextlib.suppress(errors.ApiError):
            await self.clients.loopback().patch("secrets", namespace, secret, patch)

    async def _make_namespace(self, name: str) -> None:
        await self.clients.loopback().create("namespaces", "", {"metadata": {"name": name}})

    async def _write_quota(self, quota: Object) -> None:
        namespace, name = meta.namespace_of(quota), meta.name_of(quota)
        loopback = self.clients.loopback()
        await loopback.update("resourcequotas", namespace, name, quota, subresource="status")

    def _definition_controllers(self) -> Component:
        """They are part of the API server and act as itself; there is nothing for them to do
        until there is a definition."""
        client = self.clients.loopback(extensions.NAME)
        return extensions.build(
            self.kernel,
            self.recorder,
            self.rand,
            client,
            self.version,
            lambda error: self._bug(extensions.NAME, error),
        )

    def _image_certificate(self, image: str) -> str:
        """The certificate that an image brings along."""
        entries = self.inputs.options.get("kubelet", {}).get("images")
        return images.Catalog(entries).find(image).files.get(images.CERTIFICATE, "")

    def _bug(self, where: str, error: BaseException) -> None:
        self._report("bug", f"{where}: {type(error).__name__}: {error}\n{_place(error)}")


def _place(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))
