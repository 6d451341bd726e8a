"""Builds the clusters of a data directory, each on its host, and the driver that runs them."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import Callable
from typing import Any

from apiserver_app import flags
from apiserver_app.auth import pki
from apiserver_app.etcd import log
from apiserver_app.etcd.backend import ClusterState
from apiserver_app.etcd.log import DatabaseBackend
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.releases import Release
from lifecycle import catalog
from lifecycle.cluster.composition import Cluster
from lifecycle.cluster.inputs import Inputs
from lifecycle.hosting import apiserver, profiled, quarantine
from lifecycle.hosting.mark import Mark
from lifecycle.hosting.options import DEFAULT_PROFILE, Options, profiles
from lifecycle.hosting.worker import auditlog, authfiles, disk, standing, sweeper
from lifecycle.hosting.worker.clock import RUN, parse_speed
from lifecycle.hosting.worker.clusterhost import ClusterHost, Message
from lifecycle.hosting.worker.control import ControlError, Controls
from lifecycle.hosting.worker.driver import Driver, Send
from lifecycle.hosting.worker.forks import Forks
from lifecycle.hosting.worker.inbox import Inbox
from lifecycle.hosting.worker.outbound import Network
from lifecycle.trace import archive
from lifecycle.trace.reading import TraceError

DEFAULT_SEED = 1


def build_driver(options: Options, loop: asyncio.AbstractEventLoop, send: Send) -> Driver:
    """Builds the driver of the cluster that `demo` serves. Raises ValueError for bad options."""
    now = time.time_ns() // 1000 // SECOND * SECOND
    given = apiserver.parse(options)
    inputs = _inputs(options, given, now)
    staged: list[Message] = []  # sent with the next commit

    def report(kind: str, what: Any) -> None:
        staged.append(("ready" if kind == "ready" else "log", what))

    inbox = Inbox()
    own = frozenset((options.port, options.tls_port))
    network = Network(loop, inbox, inputs.flags.outbound_allowed_addresses, own)
    backend = DatabaseBackend(options.cluster)
    cluster = Cluster(inputs, backend, report, network)
    _check_same(cluster, options)
    if cluster.is_new:
        _keep_recording(options)
    stood = standing.stored(cluster.state.control)
    pace = standing.pace(stood, options.speed, again=options.again)
    mode, speed = parse_speed(pace)
    alarm = cluster.store.alarm = disk.alarm(options.data_dir, backend)
    if alarm and cluster.is_new:
        raise ValueError(alarm)
    if alarm:
        report("log", f"{alarm}; writes are refused until {options.data_dir} takes them again")
        mode, speed = RUN, 1.0
    mark = Mark(options.data_dir, options.cluster)

    def erase() -> None:
        mark.path.unlink(missing_ok=True)  # first: nothing more is claimed of what is there
        (options.data_dir / quarantine.FILE).unlink(missing_ok=True)
        backend.erase()

    on_audit = auditlog.sink(given, lambda line: report("log", line), lambda: cluster.kernel.now)
    host = ClusterHost(
        cluster,
        time.monotonic,
        mode=mode,
        speed=speed,
        staged=staged,
        inbox=inbox,
        on_audit=on_audit,
        on_durable=mark.write,
        erase=None if options.single_process else erase,
    )
    host.quarantine(quarantine.read(options.data_dir))
    driver = Driver(loop, {cluster.name: host}, send, shared=options.single_process)
    if stood is not None and not alarm:
        host.on_booted = functools.partial(_as_it_stood, driver.controls, stood, cluster.name)
        is_given = options.speed is not None and not options.again
        said = standing.sentence(stood, None if is_given else pace)
        if said:
            report("log", said)
    if alarm:
        disk.watch(loop, options.data_dir, backend, driver.over)
    else:
        log.erase_forks()
        sweeper.start(loop)
    build = _fork_builder(host, loop, own)
    driver.keep(Forks(host, driver, build, lambda: sweeper.start(loop)))
    authfiles.Files(loop, host, driver.wake, apiserver.read).start()
    return driver


def _as_it_stood(controls: Controls, stood: standing.Standing, name: str) -> None:
    if stood.breakpoints:
        with contextlib.suppress(ControlError):  # of another version
            controls.handle(name, "breakpoints", {"set": stood.breakpoints})
    if stood.paused:
        controls.handle(name, "pause", {})


def _inputs(options: Options, given: flags.Flags, now: int) -> Inputs:
    keys = pki.read(options.data_dir)
    profile = catalog.profile(options.profile)
    version = Release.parse(options.kubernetes_version)
    scheduler = apiserver.scheduler(options)
    return Inputs(
        name=options.cluster,
        seed=DEFAULT_SEED if options.seed is None else options.seed,
        version=options.kubernetes_version,
        profile=options.profile,
        epoch=now,
        nodes=options.nodes,
        machines=profiled.machines(profile),
        ca_pem=keys.ca.certificate.decode(),
        ca_key=keys.ca.key,
        service_account_key=keys.service_account_key,
        flags=given,
        options={
            **profiled.options(profile),
            "kubeadm": True,
            "limits": {name.replace("-", "_"): most for name, most in options.limits},
            "manifests": profiled.static_pods(
                version, given, options.nodes, profile, scheduler.line
            ),
            "scheduler": scheduler,
        },
    )


def _keep_recording(options: Options) -> None:
    """The story that was recorded on such a cluster is among the saved traces from the start."""
    file = catalog.recording(catalog.profile(options.profile))
    if file is not None:
        with file.open("rb") as recorded, contextlib.suppress(TraceError):
            archive.Archive(options.data_dir).take("", recorded, options.profile)


def _fork_builder(
    origin: ClusterHost, loop: asyncio.AbstractEventLoop, own_ports: frozenset[int]
) -> Callable[[str], ClusterHost]:
    inputs = origin.cluster.inputs

    def build(name: str) -> ClusterHost:
        """Of what the store has under that name; it is given what the origin was."""
        inbox, staged = Inbox(), list[Message]()

        def report(kind: str, what: Any) -> None:
            if kind != "ready":
                staged.append(("log", f"{name}: {what}"))

        network = Network(loop, inbox, inputs.flags.outbound_allowed_addresses, own_ports)
        cluster = Cluster(inputs, DatabaseBackend(name), report, network)
        cluster.kernel.quarantined = origin.kernel.quarantined
        return ClusterHost(
            cluster,
            origin.wall,
            mode=origin.clock.mode,
            speed=origin.clock.speed,
            staged=staged,
            inbox=inbox,
        )

    return build


def _check_same(cluster: Cluster, options: Options) -> None:
    """Refuses options that differ from those an existing cluster was made with."""
    state = cluster.state
    if cluster.is_new:
        return
    if state.version != options.kubernetes_version:
        raise ValueError(
            f"the data directory holds a cluster of Kubernetes {state.version}, not "
            f"{options.kubernetes_version}; go on with {_wish(state)}, or choose another --data-dir"
        )
    if catalog.profile(state.profile).get("machines") != catalog.profile(options.profile).get(
        "machines"
    ):
        raise ValueError(
            f"the data directory holds a cluster of profile {state.profile}, whose machines have "
            f"other names; go on with {_wish(state)}, or choose another --data-dir"
        )
    if options.seed is not None and options.seed != state.seed:
        raise ValueError(
            f"the data directory holds a cluster with seed {state.seed}, not {options.seed}; "
            "choose another --data-dir"
        )


def _wish(state: ClusterState) -> str:
    """Returns the option that starts a cluster with this state."""
    if state.profile in profiles() and state.profile != DEFAULT_PROFILE:
        return f"--profile {state.profile}"
    return f"--kubernetes-version {state.version}"
