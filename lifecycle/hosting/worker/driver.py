"""The worker side of the port: takes messages, drives the clusters in turn, sends what they say.

It runs on an asyncio loop (the worker process's own, or the edge's with --single-process) and
gives it back after every slice. One frame leaves for each commit.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Callable
from typing import Any

from apiserver_app.etcd.errors import StoreError
from apiserver_app.http import statuses
from apiserver_app.http.exchange import Reply, Request
from apiserver_app.machinery import errors
from lifecycle.hosting import board, memory
from lifecycle.hosting.worker.clusterhost import ClusterHost, Message
from lifecycle.hosting.worker.control import ControlError, Controls
from lifecycle.hosting.worker.forks import Forks

SLICE_SECONDS = 0.02
# one process for all: the edge needs the loop back soon
SLICE_SECONDS_SHARED = 0.002
SHARED_TURNS = 4  # turns of the loop that the edge gets between slices

Send = Callable[[list[Message]], None]


class Driver:
    """Drives hosts on a loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        hosts: dict[str, ClusterHost],
        send: Send,
        *,
        shared: bool = False,
    ) -> None:
        self.loop = loop
        self.hosts = hosts
        self.send = send
        self.stopped = False
        self._poll: Callable[[], None] | None = None
        self._slice = SLICE_SECONDS_SHARED if shared else SLICE_SECONDS
        self._shared = shared
        self._handle: asyncio.Handle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._requests: dict[int, tuple[ClusterHost, _Reply]] = {}
        self.controls = Controls(hosts, self._end)
        self._forks: Forks | None = None
        # has a role of a cluster started
        self.ask: Callable[[str, str], None] = lambda cluster, role: None
        self._driving = False
        self._collector: memory.Collector | None = None
        self._board: Any = bytearray(board.PHASE + 1)
        # another worker is to go on; called with the reason
        self.on_end: Callable[[str], None] = lambda reason: None
        for host in hosts.values():
            host.inbox.listen(self.wake)

    def start(
        self,
        ask: Callable[[str, str], None],
        poll: Callable[[], None] | None = None,
        written: Any = None,
    ) -> None:
        """Boot every cluster and begin to drive. `ask` is called with a cluster and each of its
        roles that is to run; `poll` brings in messages that wait on the socket; `written` is the
        board, which says what is run just now."""
        self._poll = poll
        self.ask = ask
        self._board = written or self._board
        for name, host in self.hosts.items():
            host.kernel.board = self._board
            host.cluster.start(functools.partial(ask, name))
        if not self._shared:
            self._collector = memory.Collector()
            self._collector.start()
        self._soon()

    def keep(self, forks: Forks) -> None:
        """Makes the forks that are asked for, beside driving."""
        self._forks = forks
        self.controls.add(forks.actions)

    def join(self, host: ClusterHost) -> None:
        """See Fleet."""
        host.kernel.board = self._board
        host.inbox.listen(self.wake)
        self.hosts[host.cluster.name] = host

    def leave(self, host: ClusterHost) -> None:
        """See Fleet."""
        name = host.cluster.name
        del self.hosts[name]
        with contextlib.suppress(StoreError):
            self.send(host.commit())
        for number, (asked, reply) in list(self._requests.items()):
            if asked is host:
                del self._requests[number]
                self.send([reply.last(_no_cluster(number, name))])
        host.kernel.close()
        self.send([("removed", name)])

    def stop(self) -> None:
        """End the open streams and commit what is left; nothing is driven afterwards."""
        if self.stopped:
            return
        for host, reply in list(self._requests.values()):
            if reply.switched:
                reply.close(1001, "the server is stopping")
            elif reply.streaming:
                reply.body(b"", False)
            host.outside_done()
        self._flush(last=True)
        self.stopped = True
        for handle in (self._handle, self._timer):
            if handle is not None:
                handle.cancel()

    def receive(self, messages: list[Message]) -> None:
        """Messages from the edge. They take effect at the next slice."""
        for message in messages:
            kind = message[0]
            if kind == "req":
                self._request(*message[1:])
            elif kind in ("data", "took"):
                self._pass(kind, message[1], message[2])
            elif kind == "cancel":
                self._cancel(message[1])
            elif kind == "ctl":
                self._control(*message[1:])
        if not self._driving:
            self._soon()

    def wake(self) -> None:
        """Something was offered to a host from inside this process."""
        if not self._driving:
            self._soon()

    # -- messages -------------------------------------------------------------------------------

    def _request(
        self,
        number: int,
        cluster: str,
        method: str,
        path: str,
        query: str,
        headers: Any,
        body: bytes,
        tls: Any,
        address: str = "",
    ) -> None:
        host = self.hosts.get(cluster)
        if host is None:
            self.send([_no_cluster(number, cluster)])
            return
        reply = _Reply(self, host, number)
        request = Request(method, path, query, headers, body, tls, address)
        self._requests[number] = (host, reply)
        host.request(number, request, reply, tls, lambda: number in self._requests)

    def _pass(self, kind: str, number: int, what: bytes | str | int) -> None:
        """What the client of an open stream sent, or how much it took: an input like a request."""
        request = self._requests.get(number)
        if request is not None:
            host, reply = request
            host.offer(kind, [number, what], lambda: reply.on(kind, what))

    def _cancel(self, number: int) -> None:
        request = self._requests.pop(number, None)
        if request is not None:
            request[0].input_now("cancel", [number])
            request[1].on("cancel")

    def _control(self, number: int, cluster: str, action: str, args: Any) -> None:
        try:
            result = self.controls.handle(cluster, action, args or {})
        except ControlError as error:
            self.send([("ctlr", number, False, {"error": str(error)})])
            return
        except Exception as error:  # the edge of the process: a bug must not end the cluster
            self.hosts[cluster].cluster.context.process.on_bug(action, error)
            self.send([("ctlr", number, False, {"error": f"{action} failed: {error!r}"})])
            return
        if not self.stopped:
            self._flush()
        self.send([("ctlr", number, True, result)])

    def finished(self, number: int) -> None:
        self._requests.pop(number, None)

    # -- driving --------------------------------------------------------------------------------

    def _soon(self, turns: int = 0) -> None:
        if self.stopped:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._handle is None:
            self._handle = self.loop.call_soon(self._turn, turns)

    def _turn(self, turns: int) -> None:
        self._handle = None
        if turns > 0:
            self._soon(turns - 1)
        else:
            self.drive()

    def drive(self) -> None:
        """One slice of every cluster, its commit, and then whatever it said goes out."""
        if self.stopped:
            return
        self._driving = True
        self._board[board.PHASE] = board.STEP
        try:
            for host in list(self.hosts.values()):
                host.run_slice(self._slice, self._poll)
        finally:
            self._driving = False
        self._flush()
        if not self.stopped:
            idle = self._plan()
            if self._make_forks():
                idle = False
            if self._collector is not None:
                self._board[board.PHASE] = board.COMMIT  # of thousands of nodes it may take long
                self._collector.tidy(idle=idle)
                self._board[board.PHASE] = board.IDLE

    def _make_forks(self) -> bool:
        """A slice of it; whether there was anything to make."""
        if self._forks is None or not self._forks.making:
            return False
        self._board[board.PHASE] = board.COMMIT  # it may take long
        self._forks.work()
        self._board[board.PHASE] = board.IDLE
        self._soon(SHARED_TURNS if self._shared else 0)
        return True

    def _flush(self, *, last: bool = False) -> None:
        self._board[board.PHASE] = board.COMMIT
        for host in list(self.hosts.values()):
            try:
                messages = host.commit(last=last)
            except StoreError as error:
                self._refuse(host, error)
                return
            if messages:
                self.send(messages)
        self._board[board.PHASE] = board.IDLE

    def _refuse(self, host: ClusterHost, error: StoreError) -> None:
        """Answers whatever waits for a commit that failed with its error, and drives no more."""
        self.stopped = True
        waiting = [message[1] for message in host.staged if message[0] in ("head", "switch")]
        waiting += [number for number, (_, reply) in self._requests.items() if not reply.streaming]
        code, headers, body = statuses.render(errors.ApiError(500, "", str(error)))
        self.send(
            [("head", number, code, headers, False, body) for number in dict.fromkeys(waiting)]
        )
        self.on_end(str(error))

    def over(self) -> None:
        """The store takes writes again: another worker goes on from the last commit."""
        self.on_end("the store takes writes again")

    def _end(self, reason: str) -> None:
        """Drives no more, and commits nothing; another worker comes after what is said now."""
        self.stopped = True
        self._board[board.PHASE] = board.COMMIT  # it may take long
        self.loop.call_soon(self.on_end, reason)

    def _plan(self) -> bool:
        """Arrange the next slice; whether there is a gap before it."""
        idle = [host.idle_seconds() for host in self.hosts.values()]
        waits = [seconds for seconds in idle if seconds is not None]
        if not waits:
            return True
        wait = min(waits)
        if wait <= 0:
            self._soon(SHARED_TURNS if self._shared else 0)
            return False
        if self._timer is None:
            self._timer = self.loop.call_later(wait, self._wake_timer)
        return True

    def _wake_timer(self) -> None:
        self._timer = None
        self.drive()


class _Reply(Reply):
    """The answer of one request, staged until the commit that makes it true."""

    def __init__(self, driver: Driver, host: ClusterHost, number: int) -> None:
        self._driver = driver
        self._host = host
        self._number = number
        self._listeners: dict[str, Callable[[Any], None]] = {}
        self._begun = -1  # the commit that the head waits for
        self.streaming = False
        self.switched = False

    def head(
        self,
        status: int,
        headers: list[tuple[str, str]],
        body: bytes,
        *,
        more: bool = False,
        paced: str = "",
    ) -> None:
        how = paced or more
        self._begun = self._host.commits
        self._host.staged.append(("head", self._number, status, headers, how, body))
        self.streaming = more
        self._host.outside_done()
        if not more:
            self._driver.finished(self._number)

    def switch(self, headers: list[tuple[str, str]]) -> None:
        self._host.staged.append(("switch", self._number, headers))
        self.streaming = self.switched = True
        self._host.outside_done()

    def body(self, data: bytes | str, more: bool) -> None:
        # what leaves together with the head is not for the client to keep up with
        how = "part" if more and self._begun == self._host.commits else more
        self._host.staged.append(("body", self._number, data, how))
        if not more:
            self.streaming = False
            self._driver.finished(self._number)

    def close(self, code: int, reason: str) -> None:
        self._host.staged.append(("close", self._number, code, reason))
        self.streaming = self.switched = False
        self._driver.finished(self._number)

    def took(self, count: int) -> None:
        self._host.staged.append(("took", self._number, count))

    def last(self, refusal: Message) -> Message:
        """What is said when there is no cluster any more: before the head it is a refusal."""
        if self.switched:
            return ("close", self._number, 1001, "the cluster was removed")
        return ("body", self._number, b"", False) if self.streaming else refusal

    def listen(self, **calls: Callable[[Any], None]) -> None:
        self._listeners.update(calls)

    def on(self, what: str, data: Any = None) -> None:
        """Tell the request's handler what its client did."""
        listener = self._listeners.get(what)
        if listener is not None:
            listener(data)


def _no_cluster(number: int, cluster: str) -> Message:
    body = (
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
        b'"message":"there is no such cluster","reason":"NotFound","details":{},"code":404}\n'
    )
    return ("head", number, 404, [("Content-Type", "application/json")], False, body)
