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

import orjson

from apiserver_app.machinery import meta
from apiserver_app.machinery.net.nodeapi import STDERR, STDOUT, HttpAnswer, HttpRequest
from controllers_app.containerruntime.containers import Container
from controllers_app.containerruntime.servers import samplewebhooks
from controllers_app.containerruntime.servers.server import Answering, Server, option
from controllers_app.shell import timeformat

# -- the servers ----------------------------------------------------------------------------------


async def _nginx(container: Container, _port: int, request: HttpRequest) -> HttpAnswer:
    path = urllib.parse.unquote(request.path.partition("?")[0])
    root = "/usr/share/nginx/html"
    status, body, kind = _file(container, root, path, request.method)
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
                container,
                STDERR,
                f"{timeformat.nginx(container.now)} [error] 29#29: *1 {what}, client: {client}, "
                f'server: localhost, request: "{request.method} {request.path} HTTP/1.1", host: '
                f'"{request.headers.get("host", "localhost")}"',
            )
    _access(container, request, status, len(body), '"-"')
    head = {"server": "nginx/1.27.5", "content-type": kind, "connection": "keep-alive"}
    return HttpAnswer(status, head, body)


async def _httpd(container: Container, _port: int, request: HttpRequest) -> HttpAnswer:
    path = urllib.parse.unquote(request.path.partition("?")[0])
    status, body, kind = _file(container, "/usr/local/apache2/htdocs", path, request.method)
    if status != 200:
        words = {403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed"}[status]
        body = (
            '<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">\n<html><head>\n'
            f"<title>{status} {words}</title>\n</head><body>\n<h1>{words}</h1>\n"
            "<p>The requested URL was not found on this server.</p>\n</body></html>\n"
        ).encode()
    _say(
        container,
        STDOUT,
        f"{_client(request)} - - [{timeformat.common(container.now)}] "
        f'"{request.method} {request.path} HTTP/1.1" {status} {len(body)}',
    )
    return HttpAnswer(status, {"server": "Apache/2.4.63 (Unix)", "content-type": kind}, body)


async def _echo(container: Container, _port: int, request: HttpRequest) -> HttpAnswer:
    text = option(
        [*(container.spec.get("command") or ()), *(container.spec.get("args") or ())], "-text"
    )
    body = (text or "").encode() + b"\n"
    host, client = request.headers.get("host", ""), _client(request)
    agent = request.headers.get("user-agent", "")
    _say(
        container,
        STDOUT,
        f'{timeformat.nginx(container.now)} {host} {client}:40000 "{request.method} {request.path} '
        f'HTTP/1.1" 200 {len(body)} "{agent}" 21.4µs',
    )
    head = {"x-app-name": "http-echo", "x-app-version": "1.0.0", "content-type": _PLAIN}
    return HttpAnswer(200, head, body)


async def _agnhost(container: Container, port: int, request: HttpRequest) -> HttpAnswer:
    path, _, query = request.path.partition("?")
    values = urllib.parse.parse_qs(query)
    _say(container, STDOUT, f"{timeformat.nginx(container.now)} GET {path}")
    name = meta.name_of(container.pod)
    if path == "/":
        text = f"NOW: {timeformat.go(container.now)}"
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


async def _serve_hostname(container: Container, _port: int, _request: HttpRequest) -> HttpAnswer:
    return HttpAnswer(200, {"content-type": _PLAIN}, meta.name_of(container.pod).encode())


async def _coredns(_cell: Container, port: int, request: HttpRequest) -> HttpAnswer:
    path = request.path.partition("?")[0]
    known = {(8080, "/health"): b"OK", (8181, "/ready"): b"OK"}
    if port == 9153 and path == "/metrics":
        body = (
            b"# HELP coredns_build_info A metric with a constant '1' value.\n"
            b"# TYPE coredns_build_info gauge\n"
            b'coredns_build_info{goversion="go1.23.3",version="1.12.0"} 1\n'
        )
        return HttpAnswer(200, {"content-type": "text/plain; version=0.0.4"}, body)
    answer_for_port = known.get((port, path))
    if answer_for_port is None:
        return HttpAnswer(404, {"content-type": _PLAIN}, b"404 page not found\n")
    return HttpAnswer(200, {"content-type": _PLAIN}, answer_for_port)


async def _etcd(container: Container, _port: int, request: HttpRequest) -> HttpAnswer:
    """What etcd says over plain HTTP; its keys are reached by etcdctl."""
    path = request.path.partition("?")[0]
    if path in ("/health", "/readyz", "/livez"):
        if path == "/health":
            body = b'{"health":"true","reason":""}'
            return HttpAnswer(200, {"content-type": "application/json"}, body)
        return HttpAnswer(200, {"content-type": _PLAIN}, b"ok\n")
    release = container.spec["image"].rpartition(":")[2].partition("-")[0]
    if path == "/version":
        versions = {"etcdserver": release, "etcdcluster": f"{release.rpartition('.')[0]}.0"}
        return HttpAnswer(200, {"content-type": "application/json"}, orjson.dumps(versions))
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


async def _whoami(container: Container, _port: int, request: HttpRequest) -> HttpAnswer:
    lines = [
        f"Hostname: {meta.name_of(container.pod)}",
        "IP: 127.0.0.1",
        f"IP: {container.address}",
        f"RemoteAddr: {_client(request)}:40000",
        f"{request.method} {request.path} HTTP/1.1",
        *(f"{key.title()}: {value}" for key, value in sorted(request.headers.items())),
    ]
    return HttpAnswer(200, {"content-type": _PLAIN}, "\n".join([*lines, "", ""]).encode())


async def _plain(container: Container, port: int, request: HttpRequest) -> HttpAnswer:
    info = {
        "container": container.name,
        "image": container.spec["image"],
        "path": request.path,
        "pod": f"{meta.namespace_of(container.pod)}/{meta.name_of(container.pod)}",
        "port": port,
        "simulated": True,
    }
    return HttpAnswer(200, {"content-type": "application/json"}, orjson.dumps(info) + b"\n")


def _reviews(decide: samplewebhooks.Decide) -> Answering:
    async def answer(container: Container, _port: int, request: HttpRequest) -> HttpAnswer:
        review = samplewebhooks.answer(decide, request)
        moment = timeformat.nginx(container.now)
        _say(container, STDOUT, f"{moment} {request.method} {request.path} {review.status}")
        return review

    return answer


async def _hpa_example(_cell: Container, _port: int, _request: HttpRequest) -> HttpAnswer:
    """index.php of the walkthrough: a million square roots, then this."""
    return HttpAnswer(200, {"content-type": "text/html; charset=UTF-8"}, b"OK!")


def _redis(data: bytes) -> bytes:
    """PING, in either of redis's two ways of writing commands; everything else is unknown."""
    words = data.upper().split()
    if b"PING" in words:
        return b"+PONG\r\n"
    name = next((word for word in data.split() if word[:1] not in (b"*", b"$")), b"")
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
    Server("sidecar-injector", _reviews(samplewebhooks.sidecar_injector), tls=True),
    Server("name-length", _reviews(samplewebhooks.name_length), tls=True),
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


def _file(container: Container, root: str, path: str, method: str) -> tuple[int, bytes, str]:
    """Status, body and content type of a file below the root."""
    if method not in ("GET", "HEAD"):
        return 405, b"", "text/html"
    if ".." in path.split("/"):
        return 404, b"", "text/html"
    folder = path.endswith("/")
    body = container.read(f"{root}{path}index.html" if folder else f"{root}{path}")
    if body is None:
        return (403 if folder and container.is_folder(root + path) else 404), b"", "text/html"
    kind = "html" if folder else path.rpartition(".")[2]
    return 200, body, _KINDS.get(kind, "application/octet-stream")


def _access(container: Container, request: HttpRequest, status: int, size: int, last: str) -> None:
    agent = request.headers.get("user-agent") or "-"
    _say(
        container,
        STDOUT,
        f"{_client(request)} - - [{timeformat.common(container.now)}] "
        f'"{request.method} {request.path} HTTP/1.1" {status} {size} "-" "{agent}" {last}',
    )


def _client(request: HttpRequest) -> str:
    return request.headers.get("x-forwarded-for") or "127.0.0.1"


def _say(container: Container, stream: str, line: str) -> None:
    container.log.write(container.now, stream, line.encode() + b"\n")
