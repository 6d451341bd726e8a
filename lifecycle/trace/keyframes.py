"""Keyframes: which records of a trace are still in force at one of them.

They are the newest write of every object, what components reported, how queues and the
clock stand, what is under way, and the newest command. Who has these, and every record that comes
after, knows the state from there on; the page adds them as it adds any others. An entry says as
`roots` which requests from outside its record goes back to, because the records between are not
there. Models what index.js and reducer.js in static/js/core/trace make of all records; a test
compares.
"""

from __future__ import annotations

import re
import zlib
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

import msgspec
import orjson

from apiserver_app.etcd.backend import Backend
from lifecycle.trace import redaction

# before now that a viewer who joins gets
RECENT_RECORDS = 1500
KEPT_EVERY = 20_000  # records between two keyframes that are kept to go on from
KEPT_MAX = 16  # of them; of older ones fewer are kept
ROOTS_MAX = 4  # of one record
REMEMBERED = 50_000  # spans and revisions whose roots are known
UNSEEN = frozenset(("events",))  # changes of these are shown, they themselves are not
NO_OBJECT = frozenset(("leases.coordination.k8s.io",))  # that it was written is all that is shown
_CHANGING = frozenset(("create", "update", "patch", "delete", "deletecollection"))
_REVIEW = re.compile(
    r"(token|selfsubject|localsubjectaccess|subjectaccess|selfsubjectrules)[a-z]*reviews"
)
_WHILE_HELD = frozenset(("held", "clock", "control", "component"))
_REFUSING = frozenset(("authentication", "authorization"))

Roots = tuple[int, ...]


class Head(msgspec.Struct):
    """What of a record a keyframe is made of."""

    seq: int
    t: int
    kind: str
    span: int
    parent: int = 0
    client: str = ""
    outside: Any = False  # of a watch record: a number
    verb: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    rev: Any = 0
    op: str = ""
    gate: str = ""
    verdict: str = ""
    state: str = ""
    component: str = ""
    key: str = ""
    revs: Any = ()
    queue: str = ""
    detail: msgspec.Raw = msgspec.Raw(b"null")


class _Detail(msgspec.Struct):
    resource: str = ""


_heads = msgspec.json.Decoder(list[Head])
_raws = msgspec.json.Decoder(list[msgspec.Raw])
_detail = msgspec.json.Decoder(_Detail | None)


class _Span(msgspec.Struct):
    """A request or a piece of work that is under way."""

    head: Head
    texts: list[bytes]  # of its records: all when it came from outside, else the first
    roots: Roots
    is_streaming: bool = False
    is_answered: bool = False  # with a stream that goes on behind the answer


class Keyframe:
    """What is in force after the records it was given, which must be all from the first on."""

    def __init__(self) -> None:
        self.seq = self.t = self.rev = 0
        self.counts = {"requests": 0, "writes": 0, "beats": 0, "cycles": 0}
        # object -> number of its write, revision, its record, who wrote it, roots
        self.objects: dict[tuple[str, str, str], tuple[int, bytes, str, Roots]] = {}
        self.held = (0, b"")
        self.emptied: dict[str, set[str]] = {}  # namespace being deleted -> resources gone
        self.latest: dict[Any, bytes] = {}  # of queues, components and the clock
        self.spans: dict[int, _Span] = {}
        self.command: list[bytes] = []  # the records of the newest root
        self.root = self.acted = 0  # acted: the newest record that no cluster makes while held
        self.roots: dict[int, Roots] = {}  # span -> roots, the newest REMEMBERED
        self.caused: dict[int, Roots] = {}  # revision -> roots, the newest REMEMBERED
        self.rooted: dict[tuple[str, str, str], Roots] = {}  # object -> roots
        self.works_on: dict[str, str] = {}  # component -> resource that its keys name

    def copy(self) -> Keyframe:
        """A copy that changes independently of this one."""
        made = Keyframe()
        for name, value in vars(self).items():
            setattr(made, name, value.copy() if isinstance(value, (dict, list)) else value)
        made.emptied = {name: set(gone) for name, gone in self.emptied.items()}
        made.spans = {
            seq: msgspec.structs.replace(span, texts=list(span.texts))
            for seq, span in self.spans.items()
        }
        return made

    def take(self, segment: bytes) -> None:
        """The records of one segment, JSON joined by commas."""
        text = b"[" + segment + b"]"
        for head, raw in zip(_heads.decode(text), _raws.decode(text), strict=True):
            if head.kind not in _WHILE_HELD:
                self.acted = head.seq
            taker = _TAKERS.get(head.kind)
            if taker is not None:
                taker(self, head, raw)
            elif head.span in self.spans:
                self._in_span(head, raw)
        self.seq, self.t = head.seq, head.t

    # -- one function a kind ----------------------------------------------------------------------

    def _request(self, head: Head, raw: msgspec.Raw) -> None:
        self.counts["requests"] += 1
        roots = self.roots.get(head.parent, ()) if head.parent else ()
        if head.outside and is_change(head.verb, head.resource, head.subresource):
            roots = (head.seq,)
        self._open(head, raw, roots)
        if roots == (head.seq,):
            self._root(head.seq)

    def _work(self, head: Head, raw: msgspec.Raw) -> None:
        if head.component == "scheduler":
            self.counts["cycles"] += 1
        causes = {root for rev in head.revs or () for root in self.caused.get(rev, ())}
        roots = tuple(sorted(causes))[-ROOTS_MAX:]
        resource = self.works_on.get(head.component.partition("/")[0])
        if not roots and resource:
            namespace, _, name = head.key.rpartition("/")
            roots = self.rooted.get((resource, namespace, name), ())
        self._open(head, raw, roots)

    def _gate(self, head: Head, raw: msgspec.Raw) -> None:
        span = self.spans.get(head.span)
        if span is None:
            return
        self._in_span(head, raw)
        if head.verdict == "deny" and head.gate in _REFUSING:
            self._promote(span)

    def _stream(self, head: Head, raw: msgspec.Raw) -> None:
        span = self.spans.get(head.span)
        if span is not None:
            self._in_span(head, raw)
            self._promote(span)
            span.is_streaming = head.state == "open"
            if span.is_answered and not span.is_streaming:
                del self.spans[head.span]

    def _close(self, head: Head, raw: msgspec.Raw) -> None:
        self._in_span(head, raw)
        span = self.spans.get(head.span)
        if span is not None and span.is_streaming:
            span.is_answered = True
        else:
            self.spans.pop(head.span, None)

    def _write(self, head: Head, raw: msgspec.Raw) -> None:
        self.rev = head.rev
        self.counts["writes"] += 1
        if is_beat(head.resource, head.subresource, head.op):
            self.counts["beats"] += 1
        self._in_span(head, raw)
        key = (head.resource, head.namespace, head.name)
        span = self.spans.get(head.span)
        roots = self.roots.get(head.span, ())
        if roots:
            _remember(self.caused, head.rev, roots)
            self.rooted.pop(key, None)
            _remember(self.rooted, key, roots)
        if head.op == "delete":
            self.objects.pop(key, None)
            if head.resource == "namespaces":
                self.emptied.pop(head.name, None)
            if head.namespace in self.emptied:
                self.emptied[head.namespace].add(head.resource)
        elif head.resource not in UNSEEN:
            who = span.head.client if span else ""
            self.objects[key] = (head.rev, bytes(raw), who, roots)
            if head.resource == "namespaces" and span and span.head.verb == "delete":
                self.emptied.setdefault(head.name, set())

    def _component(self, head: Head, raw: msgspec.Raw) -> None:
        detail = bytes(head.detail)
        self.latest.pop((head.name, head.state, detail), None)
        self.latest[head.name, head.state, detail] = bytes(raw)
        facts = _detail.decode(detail)
        if facts is not None and facts.resource and b'"source"' in detail:
            self.works_on[head.name.partition("/")[0]] = facts.resource

    def _queue(self, head: Head, raw: msgspec.Raw) -> None:
        self.latest[head.queue] = bytes(raw)

    def _clock(self, head: Head, raw: msgspec.Raw) -> None:
        self.latest["clock"] = bytes(raw)

    def _held(self, head: Head, raw: msgspec.Raw) -> None:
        self.held = (head.seq, bytes(raw))

    # -- inside -----------------------------------------------------------------------------------

    def _open(self, head: Head, raw: msgspec.Raw, roots: Roots) -> None:
        self.spans[head.seq] = _Span(head, [bytes(raw)], roots)
        if roots:
            _remember(self.roots, head.seq, roots)

    def _in_span(self, head: Head, raw: msgspec.Raw) -> None:
        span = self.spans.get(head.span)
        if span is not None and span.head.outside is True:
            span.texts.append(bytes(raw))

    def _promote(self, span: _Span) -> None:
        """A refused read from outside, and what reaches into a node, is followed, too."""
        if span.head.outside is True and not span.roots:
            span.roots = (span.head.seq,)
            _remember(self.roots, span.head.seq, span.roots)
            self._root(span.head.seq)

    def _root(self, seq: int) -> None:
        if seq > self.root:
            self.root, self.command = seq, self.spans[seq].texts

    # -- as a message ------------------------------------------------------------------------------

    def message(self, values: dict[int, bytes]) -> str:
        """The frame that begins a feed. `values` has the objects of `revisions`."""
        listed = list(self.latest.values())
        for seq, span in self.spans.items():
            if seq != self.root:
                listed += [_entry(text, roots=span.roots) for text in span.texts]
        for (resource, _, _), (rev, text, client, roots) in self.objects.items():
            if rev in values or resource in NO_OBJECT:
                listed.append(_write_entry(text, client, roots, values.get(rev)))
        if self.held[0] > self.acted:
            listed.append(self.held[1])
        command = [
            _write_entry(text, head.client, (self.root,), values.get(head.rev, b"null"))
            if head.kind == "write"
            else _entry(text, roots=(self.root,))
            for head, text in zip(self._of_command(), self.command, strict=True)
        ]
        message = {
            "seq": self.seq,
            "t": self.t,
            "rev": self.rev,
            "counts": self.counts,
            "emptied": {name: sorted(gone) for name, gone in self.emptied.items()},
        }
        head = orjson.dumps(message)[:-1]
        frame = b'{"keyframe":%s,"command":[%s],"records":[%s]}}'
        return (frame % (head, b",".join(command), b",".join(listed))).decode()

    def revisions(self) -> dict[int, str]:
        """Of the objects that go with the message, and what they are."""
        plurals = {
            versions[0]: key[0] for key, versions in self.objects.items() if key[0] not in NO_OBJECT
        }
        return plurals | {
            head.rev: head.resource for head in self._of_command() if head.kind == "write"
        }

    def _of_command(self) -> list[Head]:
        return _heads.decode(b"[" + b",".join(self.command) + b"]")


_TAKERS = {
    "request": Keyframe._request,
    "response": Keyframe._close,
    "work": Keyframe._work,
    "done": Keyframe._close,
    "gate": Keyframe._gate,
    "stream": Keyframe._stream,
    "write": Keyframe._write,
    "component": Keyframe._component,
    "queue": Keyframe._queue,
    "clock": Keyframe._clock,
    "held": Keyframe._held,
}


class Keyframes:
    """The keyframes of one cluster's trace, made when they are asked for. Not for two threads."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._kept = [Keyframe()]
        self._newest = Keyframe()
        self._earlier = Keyframe()

    def at(self, seq: int) -> Keyframe:
        """At the end of the last segment that ends by `seq`. Read it at once: it goes on with the
        next call."""
        frame = self._newest
        if frame.seq > seq:
            kept = self._kept[bisect_right(self._kept, seq, key=lambda head: head.seq) - 1]
            if not kept.seq <= self._earlier.seq <= seq:
                self._earlier = kept.copy()
            frame = self._earlier
        for segment in self._backend.segments(frame.seq + 1, seq):
            if segment.last > seq:
                break
            frame.take(zlib.decompress(segment.data))
            if frame.seq >= self._kept[-1].seq + max(KEPT_EVERY, len(frame.objects)):
                self._keep(frame.copy())
        return frame

    @property
    def newest(self) -> int:
        """The last of the records that were read."""
        return self._newest.seq

    def _keep(self, frame: Keyframe) -> None:
        self._kept.append(frame)
        if len(self._kept) > KEPT_MAX:
            del self._kept[1:-1:2]

    def message(self, frame: Keyframe) -> str:
        revisions = frame.revisions()
        values = self._backend.values(list(revisions))
        for rev in values:
            if revisions[rev] == redaction.SECRETS:
                values[rev] = redaction.object_bytes(values[rev])
        return frame.message(values)


def is_beat(resource: str, subresource: str, verb: str) -> bool:
    """Whether this only says that somebody is alive."""
    name = resource.partition(".")[0]
    return name == "leases" or (name == "nodes" and subresource == "status" and verb != "create")


def is_change(verb: str, resource: str, subresource: str) -> bool:
    """Whether a request is one that the page follows."""
    if verb not in _CHANGING or not resource or is_beat(resource, subresource, verb):
        return False
    name = resource.partition(".")[0]
    return not (_REVIEW.match(name) or subresource == "token" or name == "events")


def _remember(memo: dict[Any, Roots], key: Any, roots: Roots) -> None:
    memo[key] = roots
    if len(memo) > REMEMBERED:
        del memo[next(iter(memo))]


def _entry(text: bytes, roots: Roots) -> bytes:
    return b'%s,"roots":%s}' % (text[:-1], orjson.dumps(roots)) if roots else text


def _write_entry(text: bytes, client: str, roots: Iterable[int], obj: bytes | None) -> bytes:
    more = b',"client":%s,"roots":%s' % (orjson.dumps(client), orjson.dumps(tuple(roots)))
    return text[:-1] + more + (b"}" if obj is None else b',"object":%s}' % obj)
