"""What the ingress-nginx controller's image answers: requests passed on by the Ingresses it serves.

Each request asks the API server, as the pod's own service account, for the classes and Ingresses
and for the endpoints of the Service it goes to, where the real one keeps informers and writes
nginx's configuration; while the API server does not answer, what it said last counts. Every pod
writes the addresses into the status of the Ingresses, where the real ones choose a leader for that;
on its end it takes nothing back. Annotations of ingress-nginx are not simulated: each is named in
the log.

Models kubernetes/ingress-nginx internal/ingress/{controller,status}, the flags in
pkg/flags/flags.go and rootfs/etc/nginx/template/nginx.tmpl.
"""

from __future__ import annotations

import posixpath
import re
import urllib.parse
from collections.abc import Callable

import msgspec
import orjson

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import STDERR, STDOUT, HttpAnswer, HttpRequest
from controllers_app.containerruntime.containers import Container
from controllers_app.containerruntime.sandboxes import PodSandbox
from controllers_app.containerruntime.servers import ingressroutes, server
from controllers_app.containerruntime.servers.ingressroutes import Backend, Site, Sites
from controllers_app.containerruntime.servers.server import ApiServer, Bound, Server
from controllers_app.shell import timeformat
from controllers_app.shell.machine import Unreachable

HEALTH_PORT, TLS_PORT = 10254, 443
STATUS_SECONDS = 60.0  # status.UpdateInterval
CONNECT_SECONDS = 5.0  # proxy-connect-timeout
TRIES_MAX = 3  # proxy-next-upstream-tries
KEPT_MAX = 1000  # objects, and annotations that were told of
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"
NO_BACKEND = "upstream-default-backend"
_INGRESSES = "/apis/networking.k8s.io/v1/ingresses"
_CLASSES = "/apis/networking.k8s.io/v1/ingressclasses"
_REASONS = {
    308: "Permanent Redirect", 404: "Not Found", 502: "Bad Gateway",
    503: "Service Temporarily Unavailable", 504: "Gateway Time-out",
}  # fmt: skip
# of one connection, not of the request
_HOPS = ("connection", "keep-alive", "transfer-encoding", "content-length", "upgrade")

Connect = Callable[[str, int, PodSandbox | None], Bound]  # Raises Unreachable


def servers(apiserver: ApiServer, connect: Connect) -> tuple[Server, Server]:
    """The controller's two servers, in the clear and by TLS."""
    controllers: dict[str, _Controller] = {}

    def start(container: Container) -> None:
        if container.id not in controllers:
            controller = controllers[container.id] = _Controller(container, apiserver, connect)
            kernel = container.environment.kernel
            name = f"container/{container.id[-12:]} status"
            kernel.spawn(name, keep(controller), background=True, span=0)

    async def answer(container: Container, port: int, request: HttpRequest) -> HttpAnswer:
        start(container)
        return await controllers[container.id].answer(port, request)

    async def keep(controller: _Controller) -> None:
        """The statuses, while its container runs."""
        container = controller.container
        try:
            while not container.log.closed:
                await controller.write_statuses()
                await container.environment.kernel.sleep(STATUS_SECONDS, background=True)
        finally:
            del controllers[container.id]

    plain = Server("ingress-nginx", answer, start=start)
    return plain, Server("ingress-nginx-tls", answer, tls=True)


class _Controller:
    """One controller's pod."""

    def __init__(self, container: Container, apiserver: ApiServer, connect: Connect) -> None:
        self.container = container
        self._apiserver = apiserver
        self._connect = connect
        self._ingresses: list[Object] = []  # that it serves
        self._sites: Sites = ingressroutes.sites(())
        self._said: dict[str, Object] = {}  # by the API server last, by path
        self._turns: dict[str, int] = {}  # upstream -> requests that it had
        self._named: set[str] = set()  # annotations that the log told of
        self._requests = 0
        argv = [*(container.spec.get("command") or ()), *(container.spec.get("args") or ())]
        self._serves = (
            server.option(argv, "controller-class") or ingressroutes.CONTROLLER,
            server.option(argv, "ingress-class") or "nginx",
        )

    # -- requests -------------------------------------------------------------------------------

    async def answer(self, port: int, request: HttpRequest) -> HttpAnswer:
        path = request.path.partition("?")[0]
        if port == HEALTH_PORT:
            found = path in ("/healthz", "/livez", "/readyz")
            return HttpAnswer(200 if found else 404, {"content-type": "text/plain"}, b"ok")
        await self._look()
        site = ingressroutes.site_of(self._sites, request.headers.get("host", ""))
        if port != TLS_PORT and await self._has_certificate(site):
            host = request.headers.get("host", "").partition(":")[0]
            answer = _page(308, {"location": f"https://{host}{request.path}"})
            return self._logged(request, answer, "", "-")
        location = ingressroutes.location_of(site, _normal(path))
        if location is None:
            return self._logged(request, _page(404), NO_BACKEND, "-")
        answer, to = await self._passed_on(location.backend, port, request)
        return self._logged(request, answer, location.backend.upstream, to)

    async def _passed_on(
        self, backend: Backend, port: int, request: HttpRequest
    ) -> tuple[HttpAnswer, str]:
        """The answer of an endpoint, in turn, and its address."""
        targets = await self._endpoints(backend)
        if not targets:
            return _page(503), "-"
        turn = self._turns.get(backend.upstream, 0)
        self._turns[backend.upstream] = turn + 1
        sent = self._forwarded(port, request)
        status, tried = 502, []
        for number in range(min(TRIES_MAX, len(targets))):
            address, target = targets[(turn + number) % len(targets)]
            tried.append(f"{address}:{target}")
            try:
                bound = self._connect(address, target, self.container.sandbox())
            except Unreachable as error:
                status = 504 if error.timed_out else 502
                if error.timed_out:
                    await self.container.environment.kernel.sleep(CONNECT_SECONDS)
                continue
            if bound.tls:
                text = b"Client sent an HTTP request to an HTTPS server.\n"
                return HttpAnswer(400, {"content-type": "text/plain"}, text), tried[-1]
            return await bound.answer(target, sent), tried[-1]
        return _page(status), ", ".join(tried)

    def _forwarded(self, port: int, request: HttpRequest) -> HttpRequest:
        """What the endpoint gets: the controller's pod is its client."""
        scheme = "https" if port == TLS_PORT else "http"
        headers = {key: text for key, text in request.headers.items() if key not in _HOPS}
        client = headers.get("x-forwarded-for") or "127.0.0.1"
        headers |= {
            "x-request-id": self._request_id(),
            "x-real-ip": client,
            "x-forwarded-for": self.container.address,  # the client of this connection
            "x-forwarded-host": request.headers.get("host", ""),
            "x-forwarded-port": str(port),
            "x-forwarded-proto": scheme,
            "x-forwarded-scheme": scheme,
            "x-scheme": scheme,
        }
        return msgspec.structs.replace(request, headers=headers)

    def _request_id(self) -> str:
        self._requests += 1
        return f"{int(self.container.id[-16:], 16) ^ self._requests:032x}"

    def _logged(
        self, request: HttpRequest, answer: HttpAnswer, upstream: str, to: str
    ) -> HttpAnswer:
        """The line of nginx's access log, in the format of ingress-nginx."""
        client = request.headers.get("x-forwarded-for") or "127.0.0.1"
        agent = request.headers.get("user-agent") or "-"
        size = len(answer.body)
        passed = to not in ("-", "")
        told = f"{to} {size if passed else '-'} {'0.000' if passed else '-'}"
        line = (
            f"{client} - - [{timeformat.common(self.container.now)}] "
            f'"{request.method} {request.path} HTTP/1.1" {answer.status} {size} "-" "{agent}" '
            f"{len(request.path) + len(request.body)} 0.000 [{upstream}] [] {told} "
            f"{answer.status if passed else '-'}"
        )
        self._say(STDOUT, line)
        return answer

    # -- what there is --------------------------------------------------------------------------

    async def _look(self) -> None:
        """At the Ingresses that it serves."""
        classes, ingresses = await self._get(_CLASSES), await self._get(_INGRESSES)
        if classes is None or ingresses is None:
            return
        own = ingressroutes.chosen(classes["items"], ingresses["items"], *self._serves)
        for ingress in own:
            self._name_annotations(ingress)
        self._ingresses, self._sites = own, ingressroutes.sites(own)

    def _name_annotations(self, ingress: Object) -> None:
        where = f"{meta.namespace_of(ingress)}/{meta.name_of(ingress)}"
        for name in meta.annotations_of(ingress):
            key = f"{where} {name}"
            if not name.startswith(ingressroutes.OWN_ANNOTATIONS) or key in self._named:
                continue
            if len(self._named) < KEPT_MAX:
                self._named.add(key)
            what = f'"{name} is not simulated, it changes nothing" ingress="{where}"'
            self._say(STDERR, f"{self._moment('W')} annotations.go:184] {what}")

    async def _endpoints(self, backend: Backend) -> list[tuple[str, int]]:
        service_path = f"/api/v1/namespaces/{backend.namespace}/services/{backend.service}"
        selector = urllib.parse.quote(f"kubernetes.io/service-name={backend.service}")
        slices_path = (
            f"/apis/discovery.k8s.io/v1/namespaces/{backend.namespace}/endpointslices"
            f"?labelSelector={selector}"
        )
        service, slices = await self._get(service_path), await self._get(slices_path)
        if service is None or slices is None:
            return []
        return ingressroutes.endpoints(service, slices["items"], backend.port)

    async def _has_certificate(self, site: Site) -> bool:
        for secret in site.tls:
            namespace, _, name = secret.partition("/")
            chosen = urllib.parse.quote(f"metadata.name={name}")
            path = f"/api/v1/namespaces/{namespace}/secrets?fieldSelector={chosen}"
            found = await self._get(path)
            if found is not None and found["items"]:
                return True
        return False

    # -- statuses -------------------------------------------------------------------------------

    async def write_statuses(self) -> None:
        """Tells in each Ingress by which nodes it is reached."""
        await self._look()
        wanted = await self._addresses()
        if wanted is None:
            return
        for ingress in self._ingresses:
            shown = (ingress.get("status") or {}).get("loadBalancer") or {}
            if shown.get("ingress", []) == wanted:
                continue
            namespace, name = meta.namespace_of(ingress), meta.name_of(ingress)
            what = f'"updating Ingress status" namespace="{namespace}" ingress="{name}"'
            self._say(STDERR, f"{self._moment('I')} status.go:304] {what}")
            changed = {**ingress, "status": {"loadBalancer": {"ingress": wanted}}}
            path = f"/apis/networking.k8s.io/v1/namespaces/{namespace}/ingresses/{name}/status"
            answer = await self._ask("PUT", path, orjson.dumps(changed))
            if answer is not None and answer.status >= 400:
                what = f"error updating ingress rule: {_message(answer)}"
                self._say(STDERR, f"{self._moment('W')} status.go:309] {what}")

    async def _addresses(self) -> list[Object] | None:
        """Of the nodes where this controller's pods are ready; None: nobody says."""
        pod = self.container.pod
        labels = ",".join(f"{key}={text}" for key, text in sorted(meta.labels_of(pod).items()))
        namespace = meta.namespace_of(pod)
        path = f"/api/v1/namespaces/{namespace}/pods?labelSelector={urllib.parse.quote(labels)}"
        pods = await self._get(path)
        if pods is None:
            return None
        found = set()
        for each in pods["items"]:
            node = await self._get(f"/api/v1/nodes/{each['spec'].get('nodeName', '')}")
            if _is_ready(each) and node is not None:
                found.add(_address_of(node))
        return [{"ip": address} for address in sorted(found - {""})]

    # -- the API server -------------------------------------------------------------------------

    async def _get(self, path: str) -> Object | None:
        """An object or a list; what it said last when it does not answer or refuses, None when
        there is no such object."""
        answer = await self._ask("GET", path)
        if answer is not None and answer.status == 404:
            self._said.pop(path, None)
        elif answer is not None and answer.status != 200:
            self._say(STDERR, f"{self._moment('E')} reflector.go:158] {_message(answer)}")
        if answer is None or answer.status != 200:
            return self._said.get(path)
        found: Object = orjson.loads(answer.body)
        self._said.pop(path, None)
        self._said[path] = found
        if len(self._said) > KEPT_MAX:
            del self._said[next(iter(self._said))]
        return found

    async def _ask(self, method: str, path: str, body: bytes = b"") -> HttpAnswer | None:
        """The answer, as the pod's service account; None: the API server is away."""
        if not self._apiserver.listens or self.container.log.closed:
            return None
        if not self.container.read(TOKEN):
            await self.container.fetch_tokens()
        token = self.container.read(TOKEN) or b""
        headers = {
            "authorization": f"Bearer {token.decode().strip()}",
            "user-agent": "nginx-ingress-controller/v1.12.1 (linux/amd64)",
            "accept": "application/json",
            "content-type": "application/json",
        }
        return await self._apiserver(
            HttpRequest(method, path, headers, body), self.container.address
        )

    # -- its log --------------------------------------------------------------------------------

    def _moment(self, severity: str) -> str:
        now = self.container.now
        return f"{severity}{timeformat.of(now, '%m%d %H:%M:%S')}.{now % SECOND:06d}       7"

    def _say(self, stream: str, line: str) -> None:
        self.container.log.write(self.container.now, stream, line.encode() + b"\n")


def _page(status: int, headers: dict[str, str] | None = None) -> HttpAnswer:
    """nginx's own."""
    what = f"{status} {_REASONS[status]}"
    body = (
        f"<html>\r\n<head><title>{what}</title></head>\r\n<body>\r\n<center><h1>{what}</h1></center>"
        "\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
    )
    return HttpAnswer(status, {"content-type": "text/html", **(headers or {})}, body.encode())


def _message(answer: HttpAnswer) -> str:
    """Why the API server refused."""
    try:
        return str(orjson.loads(answer.body)["message"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return f"HTTP {answer.status}"


def _normal(path: str) -> str:
    """As nginx compares it: decoded, without . and .., slashes merged."""
    path = re.sub("//+", "/", urllib.parse.unquote(path))
    end = "/" if path.endswith(("/", "/.", "/..")) else ""
    return f"{posixpath.normpath(path).rstrip('/')}{end}" or "/"


def _is_ready(pod: Object) -> bool:
    status = pod.get("status") or {}
    return status.get("phase") == "Running" and any(
        each["type"] == "Ready" and each["status"] == "True"
        for each in status.get("conditions") or ()
    )


def _address_of(node: Object) -> str:
    """The external one, or else the internal one."""
    known = {
        each["type"]: each["address"] for each in (node.get("status") or {}).get("addresses", ())
    }
    return str(known.get("ExternalIP") or known.get("InternalIP") or "")
