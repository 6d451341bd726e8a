"""Calls to Services of the cluster: which pod is asked, whom it is believed, and when it is not."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, cast

import pytest

from apiserver_app.egress import carriers
from apiserver_app.egress.carriers import Carriers
from apiserver_app.egress.outbound import Answer, Call, CallFailed, ServiceTarget
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import HttpAnswer, HttpRequest, NodeError, Nodes
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.reader import Mark
from tests import httpsserver

NOW = 1_735_689_600 * SECOND
CA = "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n"
Respond = Callable[[Object, int, HttpRequest], Awaitable[HttpAnswer]]


class Objects:
    """A reader over a few objects."""

    def __init__(self) -> None:
        self.kept: dict[str, list[Object]] = {}

    def put(self, resource: str, name: str, **fields: Any) -> None:
        metadata = {"name": name, "namespace": "team", **fields.pop("metadata", {})}
        self.kept.setdefault(resource, []).append({"metadata": metadata, **fields})

    def list(self, resource: str, namespace: str = "") -> Sequence[Object]:
        found = self.kept.get(resource, [])
        return [item for item in found if namespace in ("", item["metadata"]["namespace"])]

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        found = self.list(resource, namespace)
        return next((item for item in found if item["metadata"]["name"] == name), None)

    def generation(self, resource: str) -> int:
        return 0

    def mark(self, resources: Iterable[str]) -> Mark:
        return Mark()

    def pods_on(self, node: str) -> Sequence[Object]:
        return []


class NoNodes:
    """No kubelet runs."""

    async def http(self, pod: Object, port: int, request: HttpRequest) -> HttpAnswer:
        raise NodeError(500, "no kubelet")


class Lab:
    """A kernel with the carriers of a cluster of one Service, hook, on port 443."""

    def __init__(self) -> None:
        self.kernel = Kernel(NOW)
        self.objects = Objects()
        self.rand = Rand(1)
        nobody = cast(Nodes, NoNodes())
        self.outbound = Carriers(self.kernel, self.objects, self.rand, nobody, cluster_ca=CA)
        self.asked: list[tuple[str, int, HttpRequest]] = []
        self.objects.put(
            "services",
            "hook",
            spec={"clusterIP": "10.96.7.7", "ports": [{"name": "https", "port": 443}]},
        )

    def back(self, *names: str, ready: bool = True) -> None:
        """Pods behind the Service, which answer on port 8443."""
        endpoints = []
        for number, name in enumerate(names, 1):
            self.objects.put("pods", name, spec={"containers": [{"name": "c", "image": "i"}]})
            endpoints.append(
                {
                    "addresses": [f"10.244.0.{number}"],
                    "conditions": {"ready": ready},
                    "targetRef": {"kind": "Pod", "name": name},
                }
            )
        self.objects.put(
            "endpointslices.discovery.k8s.io",
            "hook-1",
            endpoints=endpoints,
            ports=[{"name": "https", "port": 8443}],
            metadata={"labels": {"kubernetes.io/service-name": "hook"}},
        )

    def nodes(self, respond: Respond | None = None) -> None:
        lab = self

        class Answering:
            async def http(self, pod: Object, port: int, request: HttpRequest) -> HttpAnswer:
                lab.asked.append((pod["metadata"]["name"], port, request))
                if respond is not None:
                    return await respond(pod, port, request)
                return HttpAnswer(200, {"content-type": "text/plain"}, b"yes")

        self.outbound.nodes = cast(Nodes, Answering())

    def ask(self, to: str | ServiceTarget | None = None, **more: Any) -> Answer | str:
        """The answer, or the text of the failure, once the kernel is at rest."""
        outcome: list[Answer | str] = []
        call = Call(to or ServiceTarget("team", "hook", 443, "/go"), **{"ca_pem": CA, **more})

        async def run() -> None:
            try:
                outcome.append(await self.outbound.call(call))
            except CallFailed as error:
                outcome.append(str(error))

        self.kernel.spawn("ask", run())
        while self.kernel.run_ready(100) or self.kernel.fire_timer(0, jump=True):
            pass
        return outcome[0]


@pytest.fixture
def lab() -> Lab:
    return Lab()


def test_a_service_is_asked_through_a_ready_pod_on_its_target_port(lab: Lab) -> None:
    lab.back("hook-a")
    lab.nodes()
    answer = lab.ask(query="timeout=10s", body=b"{}")
    assert isinstance(answer, Answer)
    assert (answer.status, answer.body, answer.by) == (200, b"yes", "pod team/hook-a")
    name, port, request = lab.asked[0]
    assert (name, port, request.path) == ("hook-a", 8443, "/go?timeout=10s")
    assert request.headers["host"] == "hook.team.svc:443"


@pytest.mark.parametrize(
    "url",
    [
        "https://hook.team.svc/go",
        "https://hook.team.svc.cluster.local:443/go",
        "https://10.96.7.7/go",
    ],
)
def test_a_url_that_means_a_service_stays_inside(lab: Lab, url: str) -> None:
    lab.back("hook-a")
    lab.nodes()
    assert isinstance(lab.ask(url), Answer)
    assert lab.asked[0][2].path == "/go"


def test_pods_are_chosen_by_the_seed(lab: Lab) -> None:
    lab.back("hook-a", "hook-b", "hook-c")
    lab.nodes()
    for _ in range(8):
        lab.ask()
    first = [name for name, _, _ in lab.asked]
    assert len(set(first)) > 1
    lab.rand.state = Rand(1).state
    for _ in range(8):
        lab.ask()
    assert [name for name, _, _ in lab.asked] == first * 2


def test_what_is_missing_is_named_as_upstream_names_it(lab: Lab) -> None:
    url = 'Post "https://hook.team.svc:443/go": '
    assert lab.ask() == url + 'no endpoints available for service "hook"'
    lab.back("hook-a", ready=False)
    assert lab.ask() == url + 'no endpoints available for service "hook"'
    assert lab.ask(ServiceTarget("team", "other")) == (
        'Post "https://other.team.svc:443": service "other" not found'
    )
    assert lab.ask(ServiceTarget("team", "hook", 8080)) == (
        'Post "https://hook.team.svc:8080": no service port 8080 found for service "hook"'
    )


def test_a_pod_where_nobody_listens_refuses_the_connection(lab: Lab) -> None:
    lab.back("hook-a")

    async def refuse(pod: Object, port: int, request: HttpRequest) -> HttpAnswer:
        raise NodeError(500, "no such port")

    lab.nodes(refuse)
    assert lab.ask() == (
        'Post "https://hook.team.svc:443/go": dial tcp 10.244.0.1:8443: connect: connection refused'
    )


def test_a_pod_that_does_not_answer_is_given_up_in_virtual_time(lab: Lab) -> None:
    lab.back("hook-a")

    async def dawdle(pod: Object, port: int, request: HttpRequest) -> HttpAnswer:
        await lab.kernel.sleep(60)
        raise AssertionError("nobody waits any more")

    lab.nodes(dawdle)
    assert lab.ask(timeout_seconds=3) == (
        'Post "https://hook.team.svc:443/go": context deadline exceeded'
    )
    assert not lab.kernel.tasks


def test_a_server_without_a_certificate_shows_one_of_the_clusters_authority(lab: Lab) -> None:
    lab.back("hook-a")
    lab.nodes()
    assert isinstance(lab.ask(ca_pem="other roots\n" + CA), Answer)
    unknown = "x509: certificate signed by unknown authority"
    for wrong in ("", CA.replace("abc", "abd")):
        assert str(lab.ask(ca_pem=wrong)).endswith(unknown)
    assert isinstance(lab.ask(ca_pem="", insecure=True), Answer)


def test_the_certificate_of_a_mounted_secret_is_really_checked(lab: Lab) -> None:
    lab.back("hook-a")
    lab.nodes()
    lab.objects.kept["pods"][0]["spec"]["volumes"] = [{"secret": {"secretName": "tls"}}]
    secret: Object = {}
    lab.objects.put("secrets", "tls", data=secret)

    def show(made: httpsserver.Certificate) -> str:
        secret["tls.crt"] = base64.b64encode(made.pem.encode()).decode()
        answer = lab.ask(ca_pem=made.ca_pem)
        return "ok" if isinstance(answer, Answer) else answer.partition("x509: ")[2]

    good = httpsserver.certificate("hook.team.svc")
    assert show(good) == "ok"
    assert str(lab.ask(ca_pem=httpsserver.certificate("hook.team.svc").ca_pem)).endswith(
        "x509: certificate signed by unknown authority"
    )
    assert show(httpsserver.certificate("*.team.svc")) == "ok"
    assert show(httpsserver.certificate("hook.other.svc")) == (
        "certificate is valid for hook.other.svc, not hook.team.svc"
    )
    assert show(httpsserver.certificate("hook.team.svc", expired=True)) == (
        "certificate has expired or is not yet valid: current time 2025-01-01T00:00:00Z is after "
        "2020-01-02T00:00:00Z"
    )


def test_without_a_host_a_call_to_the_network_fails_by_name(lab: Lab) -> None:
    assert lab.ask("https://127.0.0.1:9443/x") == (
        f'Post "https://127.0.0.1:9443/x": dial tcp 127.0.0.1:9443: {carriers.NO_NETWORK}'
    )


class Closed:
    """A network over which nothing is opened."""

    def open(
        self, call: Call, dial: carriers.Dial, opened: carriers.Opened, arrived: carriers.Arrived
    ) -> None:
        opened(CallFailed("nothing is opened here"))


def test_the_networks_answer_wakes_who_waits_without_a_timer(lab: Lab) -> None:
    class Later(Closed):
        def ask(self, call: Call, dial: carriers.Dial, done: carriers.Done) -> None:
            assert lab.kernel.next_due(jump=True) is None
            lab.kernel.call_at(NOW, lambda _: done(Answer(200, {}, b"far", dial.host)), None)

    lab.outbound.network = Later()
    answer = lab.ask("https://127.0.0.1:9443/x")
    assert isinstance(answer, Answer)
    assert answer.by == "127.0.0.1"


def test_an_endpoint_that_is_no_pod_is_asked_over_the_network_by_its_service_name(lab: Lab) -> None:
    dials: list[carriers.Dial] = []

    class Noting(Closed):
        def ask(self, call: Call, dial: carriers.Dial, done: carriers.Done) -> None:
            dials.append(dial)
            done(CallFailed("noted"))

    lab.outbound.network = Noting()
    lab.objects.put(
        "endpoints",
        "hook",
        subsets=[{"addresses": [{"ip": "10.1.1.1"}], "ports": [{"name": "https", "port": 9443}]}],
    )
    assert lab.ask() == 'Post "https://hook.team.svc:443/go": noted'
    assert (dials[0].host, dials[0].port, dials[0].name) == ("10.1.1.1", 9443, "hook.team.svc")
