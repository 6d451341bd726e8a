"""What simulated containers answer on their ports: a visible tuple of small servers.

The catalog names the server at each port of an image. A container whose image is not known answers
on the ports its spec declares. A server gets the container's inside, the port and one request; what
it says depends on those alone.

Models what the images named here answer: docker.io/library/nginx and httpd, hashicorp/http-echo,
registry.k8s.io/e2e-test-images/agnhost (netexec), registry.k8s.io/coredns,
registry.k8s.io/hpa-example, registry.k8s.io/metrics-server, traefik/whoami.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.net.nodeapi import STDERR, STDOUT, HttpAnswer, HttpRequest
from controllers_app.kubelet import clocktext, images, metricsserver, samplehooks, sockets

if TYPE_CHECKING:
    from controllers_app.kubelet.cells import Cell
    from controllers_app.kubelet.images import Behaviour
    from controllers_app.kubelet.podworker import PodWorker
    from controllers_app.kubelet.status import ContainerState

Answering = Callable[["Cell", int, HttpRequest], Awaitable[HttpAnswer]]


@dataclass(frozen=True, slots=True)
class Server:
    """A simulated server. `talk` answers bytes that are no HTTP; without `answer` it knows none."""

    name: str
    answer: Answering | None = None
    talk: Callable[[bytes], bytes] | None = None
    tls: bool = False
    open: Callable[[], sockets.Socket] | None = None  # whose bytes a program reads and writes


@dataclass(frozen=True, slots=True)
class Bound:
    """A server that listens in a container."""

    server: Server
    cell: Cell

    async def answer(self, port: int, request: HttpRequest) -> HttpAnswer:
        if self.server.open is not None:
            return await sockets.asked(self.cell.directory.kernel, self.server.open(), request)
        if self.server.answer is None:
            return HttpAnswer(502, {"content-type": "text/plain"}, b"malformed HTTP response\n")
        worker = self.cell.worker()
        seconds = worker.containers.answer_cpu_seconds(self.cell.name) if worker else 0.0
        if seconds:
            await self.cell.work(seconds)
        return await self.server.answer(self.cell, port, request)


def listening(worker: PodWorker, port: int) -> Bound | None:
    """What listens on the pod's port now."""
    station = worker.kubelet.station
    for one in worker.containers.running():
        known = station.found(worker.uid, one.name, one.container_id)
        if known is not None and port in known.ports:
            own = Server("program", open=known.ports[port].opened)
            return Bound(own, known)
        image = worker.containers.image_of(one)
        server = _served(worker, one, image).get(port)
        if server is not None and _is_up(worker, one, image):
            if known is not None and not known.is_serving():
                continue
            return Bound(station.directory.servers[server], station.current(worker, one, image))
    return None


def is_known(image: Behaviour) -> bool:
    """Whether the catalog says where the image listens."""
    return bool(image.ports)


def ports_of(spec: meta.Object, image: Behaviour) -> dict[int, str]:
    """Port -> server of a container, its arguments considered."""
    if not image.ports:
        declared = spec.get("ports") or ()
        return {
            one["containerPort"]: "plain" for one in declared if one.get("protocol", "TCP") == "TCP"
        }
    argv = [*(spec.get("command") or ()), *(spec.get("args") or ())]
    ports = dict(image.ports)
    for option, standard in (("-listen", 5678), ("--http-port", 8080), ("-port", 80)):
        said = _option(argv, option)
        if said and standard in ports and said.rpartition(":")[2].isdigit():
            ports[int(said.rpartition(":")[2])] = ports.pop(standard)
    return ports


def _served(worker: PodWorker, one: ContainerState, image: Behaviour) -> dict[int, str]:
    return ports_of(worker.containers.spec_of(one), image)


def _is_up(worker: PodWorker, one: ContainerState, image: Behaviour) -> bool:
    if image.ready_seconds == images.NEVER:
        return False
    began = meta.parse_time(one.state["running"]["startedAt"])
    return worker.kubelet.kernel.now >= began + int(image.ready_seconds * SECOND)


# -- the servers ----------------------------------------------------------------------------------


async def _nginx(cell: Cell, _port: int, request: HttpRequest) -> HttpAnswer:
    path = urllib.parse.unquote(request.path.partition("?")[0])
    root = "/usr/share/nginx/html"
    status, body, kind = _file(cell, root, path, request.method)
    if status != 200:
        reason = _REASONS[status]
        body = (
            f"<html>\r\n<head><title>{status} {reason}</title></head>\r\n<body>\r\n<center><h1>"
            f"{status} {reason}</h1></center>\r\n<hr><center>nginx/1.27.5</center>\r\n</body>\r\n"
            "</html>\r\n"
        ).encode()
        if status in (403, 404):
            why = "directory index of" if status == 403 else "open()"
            what = f'{why} "{root}{path}" ' + (
                "is forbidden" if status == 403 else "failed (2: No such file or directory)"
            )
            client = _client(request)
            _say(
                cell, STDERR,
                f"{clocktext.nginx(cell.now)} [error] 29#29: *1 {what}, client: {client}, server: "
                f'localhost, request: "{request.method} {request.path} HTTP/1.1", host: '
                f'"{request.headers.get("host", "localhost")}"',
            )  # fmt: skip
    _access(cell, request, status, len(body), '"-"')
    head = {"server": "nginx/1.27.5", "content-type": kind, "connection": "keep-alive"}
    return HttpAnswer(status, head, body)


async def _httpd(cell: Cell, _port: int, request: HttpRequest) -> HttpAnswer:
    path = urllib.parse.unquote(request.path.partition("?")[0])
    status, body, kind = _file(cell, "/usr/local/apache2/htdocs", path, request.method)
    if status != 200:
        words = {403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed"}[status]
        body = (
            '<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">\n<html><head>\n'
            f"<title>{status} {words}</title>\n</head><body>\n<h1>{words}</h1>\n"
            "<p>The requested URL was not found on this server.</p>\n</body></html>\n"
        ).encode()
    _say(
        cell, STDOUT,
        f"{_client(request)} - - [{clocktext.common(cell.now)}] "
        f'"{request.method} {request.path} HTTP/1.1" {status} {len(body)}',
    )  # fmt: skip
    return HttpAnswer(status, {"server": "Apache/2.4.63 (Unix)", "content-type": kind}, body)


async def _echo(cell: Cell, _port: int, request: HttpRequest) -> HttpAnswer:
    text = _option([*(cell.spec.get("command") or ()), *(cell.spec.get("args") or ())], "-text")
    body = (text or "").encode() + b"\n"
    host, client = request.headers.get("host", ""), _client(request)
    agent = request.headers.get("user-agent", "")
    _say(
        cell, STDOUT,
        f'{clocktext.nginx(cell.now)} {host} {client}:40000 "{request.method} {request.path} '
        f'HTTP/1.1" 200 {len(body)} "{agent}" 21.4µs',
    )  # fmt: skip
    head = {"x-app-name": "http-echo", "x-app-version": "1.0.0", "content-type": _PLAIN}
    return HttpAnswer(200, head, body)


async def _agnhost(cell: Cell, port: int, request: HttpRequest) -> HttpAnswer:
    path, _, query = request.path.partition("?")
    values = urllib.parse.parse_qs(query)
    _say(cell, STDOUT, f"{clocktext.nginx(cell.now)} GET {path}")
    name = meta.name_of(cell.pod)
    if path == "/":
        text = f"NOW: {clocktext.go(cell.now)}"
    elif path in ("/hostname", "/hostName"):
        text = name
    elif path == "/clientip":
        text = f"{_client(request)}:40000"
    elif path == "/echo":
        text = (values.get("msg") or [""])[0]
    elif path == "/header":
        text = request.headers.get((values.get("key") or [""])[0].lower(), "")
    elif path in ("/healthz", "/readyz"):
        text = ""
    else:
        return HttpAnswer(404, {"content-type": _PLAIN}, b"404 page not found\n")
    return HttpAnswer(200, {"content-type": _PLAIN}, text.encode())


async def _serve_hostname(cell: Cell, _port: int, _request: HttpRequest) -> HttpAnswer:
    return HttpAnswer(200, {"content-type": _PLAIN}, meta.name_of(cell.pod).encode())


async def _coredns(_cell: Cell, port: int, request: HttpRequest) -> HttpAnswer:
    path = request.path.partition("?")[0]
    known = {(8080, "/health"): b"OK", (8181, "/ready"): b"OK"}
    if port == 9153 and path == "/metrics":
        body = (
            b"# HELP coredns_build_info A metric with a constant '1' value.\n"
            b"# TYPE coredns_build_info gauge\n"
            b'coredns_build_info{goversion="go1.23.3",version="1.12.0"} 1\n'
        )
        return HttpAnswer(200, {"content-type": "text/plain; version=0.0.4"}, body)
    found = known.get((port, path))
    if found is None:
        return HttpAnswer(404, {"content-type": _PLAIN}, b"404 page not found\n")
    return HttpAnswer(200, {"content-type": _PLAIN}, found)


async def _etcd(cell: Cell, _port: int, request: HttpRequest) -> HttpAnswer:
    """What etcd says over plain HTTP; its keys are reached by etcdctl."""
    path = request.path.partition("?")[0]
    if path in ("/health", "/readyz", "/livez"):
        if path == "/health":
            body = b'{"health":"true","reason":""}'
            return HttpAnswer(200, {"content-type": "application/json"}, body)
        return HttpAnswer(200, {"content-type": _PLAIN}, b"ok\n")
    release = cell.spec["image"].rpartition(":")[2].partition("-")[0]
    if path == "/version":
        said = {"etcdserver": release, "etcdcluster": f"{release.rpartition('.')[0]}.0"}
        return HttpAnswer(200, {"content-type": "application/json"}, orjson.dumps(said))
    if path == "/metrics":
        lines = (
            "# HELP etcd_server_has_leader Whether or not a leader exists. 1 is existence, 0 is "
            "not.\n# TYPE etcd_server_has_leader gauge\netcd_server_has_leader 1\n"
            "# HELP etcd_server_version Which version is running. 1 for 'server_version' label "
            "with current version.\n# TYPE etcd_server_version gauge\n"
            f'etcd_server_version{{server_version="{release}"}} 1\n'
        )
        return HttpAnswer(200, {"content-type": "text/plain; version=0.0.4"}, lines.encode())
    return HttpAnswer(404, {"content-type": _PLAIN}, b"404 page not found\n")


async def _whoami(cell: Cell, _port: int, request: HttpRequest) -> HttpAnswer:
    lines = [
        f"Hostname: {meta.name_of(cell.pod)}", "IP: 127.0.0.1", f"IP: {cell.address}",
        f"RemoteAddr: {_client(request)}:40000", f"{request.method} {request.path} HTTP/1.1",
        *(f"{key.title()}: {value}" for key, value in sorted(request.headers.items())),
    ]  # fmt: skip
    return HttpAnswer(200, {"content-type": _PLAIN}, "\n".join([*lines, "", ""]).encode())


async def _plain(cell: Cell, port: int, request: HttpRequest) -> HttpAnswer:
    said = {
        "container": cell.name,
        "image": cell.spec["image"],
        "path": request.path,
        "pod": f"{meta.namespace_of(cell.pod)}/{meta.name_of(cell.pod)}",
        "port": port,
        "simulated": True,
    }
    return HttpAnswer(200, {"content-type": "application/json"}, orjson.dumps(said) + b"\n")


def _reviews(decide: samplehooks.Decide) -> Answering:
    async def answer(cell: Cell, _port: int, request: HttpRequest) -> HttpAnswer:
        found = samplehooks.answer(decide, request)
        moment = clocktext.nginx(cell.now)
        _say(cell, STDOUT, f"{moment} {request.method} {request.path} {found.status}")
        return found

    return answer


async def _hpa_example(_cell: Cell, _port: int, _request: HttpRequest) -> HttpAnswer:
    """index.php of the walkthrough: a million square roots, then this."""
    return HttpAnswer(200, {"content-type": "text/html; charset=UTF-8"}, b"OK!")


def _redis(data: bytes) -> bytes:
    """PING, in either of redis's two ways of writing commands; everything else is unknown."""
    words = data.upper().split()
    if b"PING" in words:
        return b"+PONG\r\n"
    name = next((one for one in data.split() if one[:1] not in (b"*", b"$")), b"")
    return b"-ERR unknown command '" + name[:64] + b"', with args beginning with: \r\n"


SERVERS: tuple[Server, ...] = (
    Server("nginx", _nginx),
    Server("httpd", _httpd),
    Server("http-echo", _echo),
    Server("agnhost", _agnhost),
    Server("serve-hostname", _serve_hostname),
    Server("coredns", _coredns),
    Server("etcd", _etcd),
    Server("whoami", _whoami),
    Server("plain", _plain),
    Server("hpa-example", _hpa_example),
    Server("sidecar-injector", _reviews(samplehooks.sidecar_injector), tls=True),
    Server("name-length", _reviews(samplehooks.name_length), tls=True),
    Server("metrics-server", metricsserver.answer, tls=True),
    Server("redis", talk=_redis),
    Server("tcp", talk=lambda data: b""),
)


# -- inside ---------------------------------------------------------------------------------------

_PLAIN = "text/plain; charset=utf-8"
_REASONS = {403: "Forbidden", 404: "Not Found", 405: "Not Allowed"}
_KINDS = {
    "html": "text/html", "txt": "text/plain", "css": "text/css", "js": "application/javascript",
    "json": "application/json", "png": "image/png", "svg": "image/svg+xml",
}  # fmt: skip


def _file(cell: Cell, root: str, path: str, method: str) -> tuple[int, bytes, str]:
    """Status, body and content type of a file below the root."""
    if method not in ("GET", "HEAD"):
        return 405, b"", "text/html"
    if ".." in path.split("/"):
        return 404, b"", "text/html"
    folder = path.endswith("/")
    body = cell.read(f"{root}{path}index.html" if folder else f"{root}{path}")
    if body is None:
        return (403 if folder and cell.is_folder(root + path) else 404), b"", "text/html"
    kind = "html" if folder else path.rpartition(".")[2]
    return 200, body, _KINDS.get(kind, "application/octet-stream")


def _access(cell: Cell, request: HttpRequest, status: int, size: int, last: str) -> None:
    agent = request.headers.get("user-agent") or "-"
    _say(
        cell, STDOUT,
        f"{_client(request)} - - [{clocktext.common(cell.now)}] "
        f'"{request.method} {request.path} HTTP/1.1" {status} {size} "-" "{agent}" {last}',
    )  # fmt: skip


def _client(request: HttpRequest) -> str:
    return request.headers.get("x-forwarded-for") or "127.0.0.1"


def _say(cell: Cell, stream: str, line: str) -> None:
    cell.log.write(cell.now, stream, line.encode() + b"\n")


def _option(argv: Iterable[str], name: str) -> str | None:
    """The value of -name=value or -name value, with one dash or two."""
    words = list(argv)
    for number, word in enumerate(words):
        key, equals, value = word.partition("=")
        if key.lstrip("-") == name.lstrip("-") and key.startswith("-"):
            if equals:
                return value
            return words[number + 1] if number + 1 < len(words) else None
    return None
