"""log, exec, attach and portforward in virtual time: what each protocol says, and how each ends."""

from __future__ import annotations

import base64
import random
from typing import Any

import orjson
import pytest

from apiserver_app.http.streaming import conduit
from apiserver_app.http.streaming.spdy import framing
from lifecycle.hosting.scripted import Answer
from tests.apiserver_app.cluster import PODS, pod, server_session
from tests.apiserver_app.fakenodes import FakeNodes

SOCKET = {"connection": "Upgrade", "upgrade": "websocket"}
SPDY = {"connection": "Upgrade", "upgrade": "SPDY/3.1"}
RBAC = "rbac.authorization.k8s.io"


class Lab:
    """A cluster with one pod on a node that tests play."""

    def __init__(self, version: str = "1.33") -> None:
        self.session = server_session(version=version)
        self.nodes = FakeNodes(self.session.cluster.kernel)
        self.session.cluster.context.egress.nodes = self.nodes
        two = [{"name": name, "image": "x", "ports": [{"containerPort": 80}]} for name in "ab"]
        for name, spec in (
            ("web", {}),
            ("two", {"containers": [*two, {**two[0], "name": "gone"}]}),
        ):
            assert self.session.request("POST", PODS, pod(name, **spec)).status == 201
            binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "n1"}}
            assert self.session.request("POST", f"{PODS}/{name}/binding", binding).status == 201
            status = {"status": {"phase": "Running", "podIP": "10.0.0.1"}}
            headers = {"content-type": "application/merge-patch+json"}
            path = f"{PODS}/{name}/status"
            assert self.session.request("PATCH", path, status, headers=headers).status == 200

    def exec(self, query: str, protocol: str = "v5.channel.k8s.io", **more: Any) -> Answer:
        headers = {**SOCKET, "sec-websocket-protocol": protocol} if protocol else SOCKET
        return self.open(f"web/exec?{query}", headers, **more)

    def open(self, path: str, headers: dict[str, str], **more: Any) -> Answer:
        return self.session.request("GET", f"{PODS}/{path}", headers=headers, **more)

    def say(self, answer: Answer, data: bytes | str) -> None:
        self.session.host.offer("data", [0, data], lambda: answer.on("data", data))
        self.session.settle()

    def stream(self, state: str) -> dict[str, Any]:
        found = [record for record in self.session.records() if record["kind"] == "stream"]
        return next(one["detail"] for one in reversed(found) if one["state"] == state)


@pytest.fixture(scope="module")
def lab() -> Lab:
    return Lab()


def status(answer: Answer) -> dict[str, Any]:
    return dict(orjson.loads(answer.chunks[-1][1:]))


# -- exec over channels ---------------------------------------------------------------------------


def test_exec_says_it_is_open_then_its_output_then_success(lab: Lab) -> None:
    answer = lab.exec("command=echo&command=hi&container=main")
    assert answer.status == 101
    assert answer.headers == [("Sec-WebSocket-Protocol", "v5.channel.k8s.io")]
    assert answer.chunks[:2] == [b"\x01", b"\x01hi\n"]
    assert answer.chunks[2] == b'\x03{"metadata":{},"status":"Success"}'
    assert answer.closed == (1000, "")


def test_exit_code_is_the_cause_of_a_failure_status(lab: Lab) -> None:
    found = status(lab.exec("command=exit&command=7"))
    assert (found["status"], found["reason"]) == ("Failure", "NonZeroExitCode")
    assert found["details"] == {"causes": [{"reason": "ExitCode", "message": "7"}]}
    assert found["message"] == (
        "command terminated with non-zero exit code: command terminated with exit code 7"
    )
    assert lab.stream("end")["exit"] == 7


def test_stderr_has_its_channel_and_is_left_out_when_not_asked_for(lab: Lab) -> None:
    assert b"\x02oh\n" in lab.exec("command=err&command=oh&stderr=true&stdout=true").chunks
    assert b"\x02oh\n" not in lab.exec("command=err&command=oh&stderr=false").chunks


def test_stdin_is_passed_on_and_v5_can_close_it(lab: Lab) -> None:
    answer = lab.exec("command=cat&stdin=true")
    lab.say(answer, b"\x00abc")
    assert answer.chunks[-1] == b"\x01abc"
    assert answer.used == 4
    lab.say(answer, b"\xff\x00")
    assert status(answer)["status"] == "Success"


def test_terminal_sizes_arrive_however_they_are_cut(lab: Lab) -> None:
    answer = lab.exec("command=size&stdin=true&tty=true")
    lab.say(answer, b'\x04{"Width":80,"Hei')
    lab.say(answer, b'\x04ght":24}{"Width":100,"Height":30}\n')
    assert b"\x0180x24\n" in answer.chunks and b"\x01100x30\n" in answer.chunks


def test_client_that_leaves_hangs_up(lab: Lab) -> None:
    answer = lab.exec("command=hang")
    answer.cancel()
    lab.session.settle()
    assert lab.nodes.processes[-1].hung_up
    assert lab.stream("end")["why"] == "the client went away"


def test_what_a_client_sent_before_it_left_reaches_the_process(lab: Lab) -> None:
    answer = lab.exec("command=hang&stdin=true")
    answer.on("data", b"\x00last words")
    answer.cancel()
    lab.session.settle()
    assert lab.nodes.processes[-1].written == b"last words"


@pytest.mark.parametrize("protocol", ["", "channel.k8s.io"])
def test_protocols_before_v4_say_a_failure_as_text_and_success_not_at_all(
    lab: Lab, protocol: str
) -> None:
    assert lab.exec("command=echo&command=hi", protocol).chunks == [b"\x01", b"\x01hi\n"]
    last = lab.exec("command=exit&command=2", protocol).chunks[-1]
    assert last.startswith(b"\x03command terminated with non-zero exit code")


def test_base64_protocol_is_text_both_ways(lab: Lab) -> None:
    answer = lab.exec("command=cat&stdin=true", "v4.base64.channel.k8s.io")
    lab.say(answer, "0YWJj")
    assert answer.chunks[-1] == b"1YWJj"


def test_missing_container_is_a_status_over_v5_and_plain_text_over_v4(lab: Lab) -> None:
    path = "two/exec?command=echo&container=gone"
    v5 = lab.open(path, {**SOCKET, "sec-websocket-protocol": "v5.channel.k8s.io"})
    words = 'unable to upgrade connection: container not found ("gone")'
    assert status(v5)["message"] == f"Internal error occurred: {words}"
    v4 = lab.open(path, {**SOCKET, "sec-websocket-protocol": "v4.channel.k8s.io"})
    assert (v4.status, v4.text) == (500, b'container not found ("gone")\n')


def test_program_that_is_not_there_is_said_on_the_error_channel(lab: Lab) -> None:
    words = 'error executing command in container: exec: "nothere": executable'
    v5 = status(lab.exec("command=nothere"))["message"]
    assert v5.startswith(f"Internal error occurred: Internal error occurred: {words}")
    v4 = status(lab.exec("command=nothere", "v4.channel.k8s.io"))
    assert v4["message"].startswith(f"Internal error occurred: {words}") and v4["code"] == 500


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        ("none/exec?command=x", 404, 'pods "none" not found'),
        ("web/exec?command=x&container=no", 400, "container no is not valid for pod web"),
        (
            "two/exec?command=x",
            400,
            "a container name must be specified for pod two, choose one of: [a b gone]",
        ),
    ],
)
def test_refusal_is_a_whole_status(lab: Lab, path: str, code: int, message: str) -> None:
    answer = lab.open(path, {**SOCKET, "sec-websocket-protocol": "v5.channel.k8s.io"})
    assert answer.status == code
    assert answer.json()["message"] == message


def test_pod_without_a_node_has_no_host(lab: Lab) -> None:
    lab.session.request("POST", PODS, pod("fresh"))
    answer = lab.open("fresh/exec?command=x", SOCKET)
    assert answer.json()["message"] == "pod fresh does not have a host assigned"
    assert lab.open("fresh/log", {}).status == 204


def test_exec_needs_an_upgrade_that_is_understood(lab: Lab) -> None:
    assert lab.open("web/exec?command=x", {}).json()["message"] == "Upgrade request required"
    unknown = lab.exec("command=x", "v9.channel.k8s.io")
    assert unknown.status == 403 and b"are not supported: [v9.channel.k8s.io]" in unknown.text


def test_v5_is_of_servers_from_1_30_on() -> None:
    assert Lab("1.29").exec("command=echo").status == 403


def test_viewers_may_not_exec_and_admission_sees_the_connect(lab: Lab) -> None:
    answer = lab.exec("command=echo", user="dev")
    assert answer.status in (401, 403)
    lab.exec("command=echo")
    records = lab.session.records()
    span = [
        record["seq"] for record in records if record["kind"] == "request" and record["outside"]
    ][-1]
    gates = [
        record["gate"] for record in records if record["span"] == span and record["kind"] == "gate"
    ]
    assert gates[-4:] == ["routing", "decode", "mutating", "validating"]


def test_token_may_come_as_a_subprotocol(lab: Lab) -> None:
    encoded = base64.urlsafe_b64encode(b"nobody's").decode().rstrip("=")
    protocols = f"base64url.bearer.authorization.k8s.io.{encoded}, v5.channel.k8s.io"
    assert lab.exec("command=echo", protocols, user="").status == 401
    token = lab.session.request(
        "POST", "/api/v1/namespaces/default/serviceaccounts/default/token", {"spec": {}}
    ).json()["status"]["token"]
    encoded = base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
    protocols = f"base64url.bearer.authorization.k8s.io.{encoded}, v5.channel.k8s.io"
    answer = lab.exec("command=echo", protocols, user="")
    assert answer.status == 403
    assert "system:serviceaccount:default:default" in answer.json()["message"]


def test_exec_without_a_command_is_the_runtimes_refusal(lab: Lab) -> None:
    assert "process args cannot be empty" in status(lab.exec("stdout=true"))["message"]


def test_refusal_of_the_node_is_told(lab: Lab) -> None:
    lab.open("two/log?container=gone", {})
    assert lab.stream("refused")["why"].endswith("is waiting to start: ContainerCreating")


@pytest.mark.parametrize(("version", "code"), [("1.34", 101), ("1.35", 403)])
def test_get_is_enough_for_a_websocket_up_to_1_34(version: str, code: int) -> None:
    lab = Lab(version)
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    rules = [{"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get"]}]
    role = {"metadata": {"name": "sees"}, "rules": rules}
    assert lab.session.request("POST", f"{rbac}/roles", role).status == 201
    binding = {
        "metadata": {"name": "sees"},
        "roleRef": {"kind": "Role", "name": "sees", "apiGroup": "rbac.authorization.k8s.io"},
        "subjects": [
            {"kind": "Group", "name": "system:authenticated", "apiGroup": RBAC},
            {"kind": "User", "name": "system:anonymous", "apiGroup": RBAC},
        ],
    }
    assert lab.session.request("POST", f"{rbac}/rolebindings", binding).status == 201
    assert lab.exec("command=echo&command=x", user="nobody").status == code


# -- pace -----------------------------------------------------------------------------------------


def test_slow_reader_holds_the_process_back(lab: Lab) -> None:
    answer = lab.exec("command=hang")
    answer.reads = False
    process = lab.nodes.processes[-1]
    process.flood = 100 << 10
    process.box.put(("stdout", b"begin"))
    lab.session.settle()
    sent = sum(map(len, answer.chunks))
    assert process.flood and sent <= conduit.WINDOW_BYTES + conduit.PIECE_BYTES
    lab.session.host.offer("took", [0, sent], lambda: answer.on("took", sent))
    lab.session.settle()
    assert sum(map(len, answer.chunks)) > 2 * sent - conduit.PIECE_BYTES
    answer.cancel()
    lab.session.settle()
    assert process.hung_up


def test_streams_wait_while_the_cluster_is_frozen(lab: Lab) -> None:
    answer = lab.exec("command=cat&stdin=true")
    lab.session.host.pause()
    lab.say(answer, b"\x00abc")
    assert answer.chunks == [b"\x01"] and answer.used == 0
    lab.session.host.resume()
    lab.session.settle()
    assert answer.chunks[-1] == b"\x01abc"
    answer.cancel()
    lab.session.settle()


def test_same_stream_gives_the_same_trace() -> None:
    def run() -> list[dict[str, Any]]:
        lab = Lab()
        answer = lab.exec("command=cat&stdin=true")
        lab.say(answer, b"\x00abc")
        lab.say(answer, b"\xff\x00")
        lab.open("web/log", {})
        return lab.session.records()

    first = run()
    assert [record["kind"] for record in first].count("stream") == 4
    assert first == run()


# -- exec over SPDY -------------------------------------------------------------------------------


class Client:
    """The client's end of a SPDY connection."""

    def __init__(self, lab: Lab, answer: Answer) -> None:
        self.lab, self.answer, self.codec = lab, answer, framing.Codec()
        self._seen = 0

    def open(self, stream: int, **headers: str) -> None:
        self.lab.say(self.answer, self.codec.syn_stream(stream, headers))

    def write(self, stream: int, data: bytes, *, fin: bool = False) -> None:
        self.lab.say(self.answer, framing.data(stream, data, fin=fin))

    def frames(self) -> list[framing.Frame]:
        new = b"".join(self.answer.chunks[self._seen :])
        self._seen = len(self.answer.chunks)
        return list(self.codec.feed(new))


def spdy_exec(lab: Lab, query: str, *types: str) -> Client:
    headers = {**SPDY, "x-stream-protocol-version": "v5.channel.k8s.io, v4.channel.k8s.io"}
    answer = lab.session.request("POST", f"{PODS}/web/exec?{query}", headers=headers)
    assert answer.status == 101, answer.text
    assert answer.headers == [("X-Stream-Protocol-Version", "v4.channel.k8s.io")]
    client = Client(lab, answer)
    for number, kind in enumerate(types):
        client.open(2 * number + 1, streamtype=kind)
    return client


def test_exec_over_spdy(lab: Lab) -> None:
    client = spdy_exec(lab, "command=cat&stdin=true&stderr=false", "error", "stdin", "stdout")
    client.write(3, b"hello", fin=True)
    frames = client.frames()
    assert [frame.stream for frame in frames if frame.kind == framing.SYN_REPLY] == [1, 3, 5]
    assert b"".join(frame.data for frame in frames if frame.stream == 5) == b"hello"
    assert b"".join(frame.data for frame in frames if frame.stream == 1) == (
        b'{"metadata":{},"status":"Success"}'
    )
    assert {frame.stream for frame in frames if frame.fin} == {1, 3, 5}
    assert client.answer.closed == (1000, "")


def test_pings_are_answered_and_nonsense_ends_the_connection(lab: Lab) -> None:
    client = spdy_exec(lab, "command=hang&stderr=false", "error", "stdout")
    lab.say(client.answer, framing.ping(7))
    assert (framing.PING, 7) in [(frame.kind, frame.number) for frame in client.frames()]
    lab.say(client.answer, b"GET / HTTP/1.1\r\n\r\n")
    assert client.answer.done and lab.nodes.processes[-1].hung_up


def test_spdy_version_that_nobody_speaks_is_refused_with_those_that_are(lab: Lab) -> None:
    headers = {**SPDY, "x-stream-protocol-version": "v9.channel.k8s.io"}
    answer = lab.session.request("POST", f"{PODS}/web/exec?command=x", headers=headers)
    assert answer.status == 403
    assert ("X-Accepted-Stream-Protocol-Versions", "v4.channel.k8s.io") in answer.headers


# -- portforward ----------------------------------------------------------------------------------


@pytest.fixture(params=["tunnel", "spdy"])
def forwarded(lab: Lab, request: pytest.FixtureRequest) -> Client:
    if request.param == "tunnel":
        headers = {**SOCKET, "sec-websocket-protocol": "SPDY/3.1+portforward.k8s.io"}
    else:
        headers = {**SPDY, "x-stream-protocol-version": "portforward.k8s.io"}
    answer = lab.open("web/portforward", headers)
    assert answer.status == 101
    return Client(lab, answer)


def test_a_pair_of_streams_is_a_connection(lab: Lab, forwarded: Client) -> None:
    forwarded.open(1, streamtype="error", port="80", requestid="0")
    forwarded.open(3, streamtype="data", port="80", requestid="0")
    forwarded.write(3, b"abc")
    assert b"ABC" in [frame.data for frame in forwarded.frames()]
    forwarded.write(3, b"bye\n")
    frames = forwarded.frames()
    assert {frame.stream for frame in frames if frame.fin} == {1, 3}
    assert not forwarded.answer.done
    forwarded.answer.cancel()
    lab.session.settle()


def test_what_the_pod_still_says_comes_after_the_client_has_said_all(
    lab: Lab, forwarded: Client
) -> None:
    forwarded.open(1, streamtype="error", port="80")
    forwarded.open(3, streamtype="data", port="80")
    forwarded.write(3, b"abc", fin=True)
    frames = forwarded.frames()
    assert b"ABC" in [frame.data for frame in frames]
    assert lab.nodes.connections[-1].closed


def test_port_that_refuses_is_said_on_the_error_stream(lab: Lab, forwarded: Client) -> None:
    forwarded.open(1, streamtype="error", port="81", requestid="4")
    forwarded.open(3, streamtype="data", port="81", requestid="4")
    said = b"".join(frame.data for frame in forwarded.frames() if frame.stream == 1)
    assert said.startswith(b"error forwarding port 81 to pod ")
    assert said.endswith(b"connect: connection refused")


def test_stream_without_a_port_is_refused(lab: Lab, forwarded: Client) -> None:
    forwarded.open(1, streamtype="error")
    assert [frame.kind for frame in forwarded.frames()] == [framing.RST_STREAM]


def test_old_portforward_names_its_ports_first(lab: Lab) -> None:
    headers = {**SOCKET, "sec-websocket-protocol": "v4.channel.k8s.io"}
    answer = lab.open("web/portforward?ports=80&ports=81", headers)
    assert answer.chunks[:4] == [b"\x00P\x00", b"\x01P\x00", b"\x02Q\x00", b"\x03Q\x00"]
    assert answer.chunks[4].startswith(b"\x03error forwarding port 81")
    lab.say(answer, b"\x00bye\n")
    assert answer.chunks[-1] == b"\x00BYE\n" and answer.closed == (1000, "")


def test_old_portforward_needs_ports(lab: Lab) -> None:
    headers = {**SOCKET, "sec-websocket-protocol": "v4.channel.k8s.io"}
    answer = lab.open("web/portforward", headers)
    assert (answer.status, answer.text) == (400, b'query parameter "port" is required\n')


# -- hostile clients ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["web/exec?command=cat&stdin=true", "web/portforward"])
@pytest.mark.parametrize("seed", range(30))
def test_any_order_of_frames_is_answered_or_ends_the_connection(
    lab: Lab, path: str, seed: int
) -> None:
    """A bug would be raised here; and nothing is left behind."""
    dice = random.Random(seed)
    protocol = "portforward.k8s.io" if "forward" in path else "v4.channel.k8s.io"
    headers = {**SPDY, "x-stream-protocol-version": protocol}
    before = len(lab.session.cluster.kernel.tasks)
    answer = lab.open(path, headers)
    codec = framing.Codec()
    for _ in range(20):
        stream = dice.choice((1, 3, 5, 7, 9, 2))
        kind = dice.choice(("error", "data", "stdin", "stdout", "stderr", "resize", "odd", ""))
        port = dice.choice(("80", "8080", "81", "0", "99999", "x", ""))
        given = {"streamtype": kind, "port": port, "requestid": dice.choice("012")}
        frames = (
            codec.syn_stream(stream, given, fin=dice.random() < 0.1),
            framing.data(stream, dice.randbytes(dice.randrange(40)), fin=dice.random() < 0.2),
            framing.rst_stream(stream, framing.REFUSED_STREAM),
            framing.ping(dice.randrange(9)),
            framing.goaway(stream),
            dice.randbytes(12),
        )
        lab.say(answer, dice.choices(frames, (9, 9, 1, 1, 0.2, 0.2))[0])
    answer.cancel()
    lab.session.settle()
    assert len(lab.session.cluster.kernel.tasks) == before


# -- nobody says anything -------------------------------------------------------------------------


def pass_hours(lab: Lab, hours: float) -> None:
    """Let time go by at once: housekeeping that falls due in between runs when it is over."""
    kernel = lab.session.cluster.kernel
    kernel.advance(kernel.now + int(hours * 3600) * 1_000_000)
    lab.session.host.clock.rebase()
    lab.session.settle()


def test_a_stream_nothing_crosses_for_four_hours_is_closed_and_its_client_hung_up() -> None:
    lab = Lab()
    answer = lab.exec("command=hang&stdin=true")
    pass_hours(lab, 3)
    lab.say(answer, b"\x00still here")
    pass_hours(lab, 3)
    assert answer.closed is None
    pass_hours(lab, 1)
    assert answer.closed == (1000, "")
    assert lab.nodes.processes[-1].hung_up
    assert lab.stream("end")["why"] == "nothing crossed it for 4h0m0s"


def test_a_client_that_pings_over_spdy_stays() -> None:
    lab = Lab()
    headers = {**SPDY, "x-stream-protocol-version": "portforward.k8s.io"}
    answer = lab.open("web/portforward", headers)
    for _ in range(3):
        pass_hours(lab, 3.5)
        lab.say(answer, framing.ping(1))
    assert answer.closed is None
    pass_hours(lab, 4.5)
    assert answer.closed is not None
