"""What etcdctl prints of an answer: simple, json, protobuf, fields, table. Pure.

An answer is a name and a mapping in the shape of the JSON form; keys and values in it are bytes.

Models etcd etcdctl/ctlv3/command/printer{,_simple,_json,_fields}.go.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from apiserver_app.etcd.entries import Entry
from apiserver_app.machinery import errors
from apiserver_app.machinery.serializer import protoencode
from lifecycle.etcdctl import tables
from lifecycle.etcdctl.tables import Answer

# numbers of the fields that answers have in etcdserverpb
_HEADER = {"cluster_id": 1, "member_id": 2, "revision": 3, "raft_term": 4}
_KEY_VALUE = dict(
    zip("key create_revision mod_revision version value lease".split(), range(1, 7), strict=True)
)
_MESSAGES = {
    "range": {"header": 1, "kvs": 2, "more": 3, "count": 4},
    "put": {"header": 1, "prev_kv": 2},
    "delete": {"header": 1, "deleted": 2, "prev_kvs": 3},
}
FORMATS = ("fields", "json", "protobuf", "simple", "table")


class Printer:
    """Prints answers by name to `out`."""

    def __init__(
        self, form: str, out: Callable[[bytes], None], *, is_hex: bool, value_only: bool = False
    ) -> None:
        self.form = form
        self._out = out
        self._hex = is_hex
        self._value_only = value_only

    def show(self, name: str, answer: Answer) -> bool:
        """Print; False when the format has no form for it."""
        if self.form == "json":
            self._line(orjson.dumps(_json(_SHAPES.get(name, _as_it_is)(answer))))
            return True
        if self.form == "protobuf":
            if name not in _MESSAGES:
                return False
            self._out(_message(answer, _MESSAGES[name]))
            return True
        if self.form == "table":
            if name not in tables.TABLES:
                return False
            self._line("\n".join(tables.drawn(tables.TABLES[name](answer))))
            return True
        if self.form == "fields":
            lines = _FIELDS.get(name)
            if lines is None:
                return False
            for line in lines(self, answer):
                self._line(line)
            return True
        for line in self._simple(name, answer):
            self._line(line)
        return True

    def _line(self, line: bytes | str) -> None:
        self._out((line.encode() if isinstance(line, str) else line) + b"\n")

    # -- simple ---------------------------------------------------------------------------------

    def _simple(self, name: str, answer: Answer) -> list[bytes | str]:
        if name in tables.TABLES:
            return [", ".join(row) for row in tables.TABLES[name](answer)[1]]
        lines = _SIMPLE[name](answer)
        if name in ("range", "put", "delete"):
            for kv in answer.get("kvs") or answer.get("prev_kvs") or ():
                lines += self._kv(kv)
            if answer.get("prev_kv") is not None:
                lines += self._kv(answer["prev_kv"])
        elif name == "watch":
            for event in answer["Events"]:
                lines.append(event["type"])
                if event.get("prev_kv") is not None:
                    lines += self._kv(event["prev_kv"])
                lines += self._kv(event["kv"])
        elif name == "txn":
            for response in answer["responses"]:
                lines += [b"", *self._simple(response["name"], response["answer"])]
        return lines

    def _kv(self, kv: Entry) -> list[bytes | str]:
        key, value = kv.key.encode("utf-8", "surrogateescape"), kv.value
        if self._hex:
            key, value = _hexed(key), _hexed(value)
        return [value] if self._value_only else [key, value]

    # -- fields ---------------------------------------------------------------------------------

    def header(self, answer: Answer) -> list[bytes | str]:
        head = answer["header"]
        lines: list[bytes | str] = [
            f'"ClusterID" : {self._id(head["cluster_id"])}',
            f'"MemberID" : {self._id(head["member_id"])}',
        ]
        if head.get("revision"):
            lines.append(f'"Revision" : {head["revision"]}')
        return [*lines, f'"RaftTerm" : {head["raft_term"]}']

    def _id(self, number: int) -> str:
        return f"{number:x}" if self._hex else str(number)

    def fields_of(self, prefix: str, kv: Entry) -> list[bytes | str]:
        lease = f"{kv.lease:016x}" if self._hex else str(kv.lease)
        return [
            f'"{prefix}Key" : {errors.quoted(kv.key)}',
            f'"{prefix}CreateRevision" : {kv.create_revision}',
            f'"{prefix}ModRevision" : {kv.mod_revision}',
            f'"{prefix}Version" : {kv.version}',
            f'"{prefix}Value" : {_quoted(kv.value)}',
            f'"{prefix}Lease" : {lease}',
        ]

    def lease_id(self, number: int) -> str:
        return f'"ID" : {number:016x}' if self._hex else f'"ID" : {number}'


def _message(values: Mapping[str, Any], numbers: Mapping[str, int]) -> bytes:
    """A protobuf message; what is empty is left out."""
    out = b""
    for name, number in numbers.items():
        given = values.get(name)
        for message in given if isinstance(given, list) else [given]:
            if isinstance(message, Entry):
                out += protoencode.delimited(number, _message(_fields(message), _KEY_VALUE))
            elif isinstance(message, Mapping):
                out += protoencode.delimited(number, _message(message, _HEADER))
            elif isinstance(message, bytes) and message:
                out += protoencode.delimited(number, message)
            elif isinstance(message, int) and message:
                out += _varint(number << 3) + _varint(int(message))
    return out


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def _quoted(data: bytes) -> str:
    return errors.quoted(data.decode("utf-8", "surrogateescape"))


def _hexed(data: bytes) -> bytes:
    return "".join(f"\\x{byte:02x}" for byte in data).encode()


# -- json -----------------------------------------------------------------------------------------


def _as_it_is(answer: Answer) -> Any:
    return answer.get("list", answer)


def _watched(answer: Answer) -> Answer:
    """PUT is the zero of its type, and so left out."""
    events = [
        {**event, "type": 1 if event["type"] == "DELETE" else None} for event in answer["Events"]
    ]
    return {**answer, "Events": events}


def _revoked(answer: Answer) -> Answer:
    return {"header": answer["header"]}


def _membership(answer: Answer) -> Answer:
    return {name: field for name, field in answer.items() if name != "id"}


_SHAPES: dict[str, Callable[[Answer], Any]] = {
    "watch": _watched,
    "revoke": _revoked,
    "member remove": _membership,
    "member update": _membership,
    "member promote": _membership,
}


def _fields(entry: Entry) -> Mapping[str, bytes | int]:
    """A KeyValue, in the order of its fields."""
    return {
        "key": entry.key.encode("utf-8", "surrogateescape"),
        "create_revision": entry.create_revision,
        "mod_revision": entry.mod_revision,
        "version": entry.version,
        "value": entry.value,
        "lease": entry.lease,
    }


def _json(value: Any) -> Any:
    """As encoding/json has it: bytes in base64, what is empty left out of keys and values."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Entry):
        return {name: _json(field) for name, field in _fields(value).items() if field}
    if isinstance(value, Mapping):
        if "answer" in value:
            return {"Response": {f"response_{value['short']}": _json(value["answer"])}}
        return {name: _json(part) for name, part in value.items() if part is not None}
    if isinstance(value, list | tuple):
        return [_json(part) for part in value]
    return value


# -- lines of the simple form ---------------------------------------------------------------------


def _time_to_live(answer: Answer) -> list[bytes | str]:
    lease, ttl, granted = answer["id"], answer["ttl"], answer["granted-ttl"]
    if granted == 0 and ttl == -1:
        return [f"lease {lease:016x} already expired"]
    text = f"lease {lease:016x} granted with TTL({granted}s), remaining({ttl}s)"
    if answer.get("keys") is not None:
        text += f", attached keys([{' '.join(key.decode() for key in answer['keys'])}])"
    return [text]


def _leases(answer: Answer) -> list[bytes | str]:
    leases = answer["leases"]
    return [f"found {len(leases)} leases", *(f"{lease['id']:016x}" for lease in leases)]


def _changed_member(member: int, answer: Answer, what: str, where: str) -> str:
    return f"Member {member:16x} {what} {where} cluster {answer['header']['cluster_id']:16x}"


_SIMPLE: dict[str, Callable[[Answer], list[bytes | str]]] = {
    "range": lambda answer: [],
    "put": lambda answer: ["OK"],
    "delete": lambda answer: [str(answer.get("deleted", 0))],
    "txn": lambda answer: ["SUCCESS" if answer["succeeded"] else "FAILURE"],
    "watch": lambda answer: [],
    "grant": lambda answer: [f"lease {answer['ID']:016x} granted with TTL({answer['TTL']}s)"],
    "revoke": lambda answer: [f"lease {answer['ID']:016x} revoked"],
    "keepalive": lambda answer: [f"lease {answer['ID']:016x} keepalived with TTL({answer['TTL']})"],
    "timetolive": _time_to_live,
    "leases": _leases,
    "alarms": lambda answer: [
        f"memberID:{alarm['memberID']} alarm:NOSPACE " for alarm in answer.get("alarms", ())
    ],
    "nobody": lambda answer: [],
    "auth status": lambda answer: [
        "Authentication Status: false", f"AuthRevision: {answer['authRevision']}",
    ],
    "auth disable": lambda answer: ["Authentication Disabled"],
    "member add": lambda answer: [_changed_member(answer["member"]["ID"], answer, "added", (
        "as learner to" if answer["member"].get("isLearner") else "to"))],
    "member remove": lambda answer: [_changed_member(answer["id"], answer, "removed", "from")],
    "member update": lambda answer: [_changed_member(answer["id"], answer, "updated", "in")],
    "member promote": lambda answer: [_changed_member(answer["id"], answer, "promoted", "in")],
}  # fmt: skip


# -- lines of the fields form ---------------------------------------------------------------------


def _range_fields(to: Printer, answer: Answer) -> list[bytes | str]:
    lines = to.header(answer)
    for kv in answer.get("kvs") or ():
        lines += to.fields_of("", kv)
    more = str(bool(answer.get("more"))).lower()
    return [*lines, f'"More" : {more}', f'"Count" : {answer.get("count", 0)}']


def _put_fields(to: Printer, answer: Answer) -> list[bytes | str]:
    prev = answer.get("prev_kv")
    return [*to.header(answer), *(to.fields_of("Prev", prev) if prev else ())]


def _delete_fields(to: Printer, answer: Answer) -> list[bytes | str]:
    lines = [*to.header(answer), f'"Deleted" : {answer.get("deleted", 0)}']
    for kv in answer.get("prev_kvs") or ():
        lines += to.fields_of("Prev", kv)
    return lines


def _txn_fields(to: Printer, answer: Answer) -> list[bytes | str]:
    lines = [*to.header(answer), f'"Succeeded" : {str(answer["succeeded"]).lower()}']
    for response in answer["responses"]:
        lines += _FIELDS[response["name"]](to, response["answer"])
    return lines


def _watch_fields(to: Printer, answer: Answer) -> list[bytes | str]:
    lines = to.header({"header": answer["Header"]})
    for event in answer["Events"]:
        lines.append(f'"Type" : {event["type"]}')
        if event.get("prev_kv") is not None:
            lines += to.fields_of("Prev", event["prev_kv"])
        lines += to.fields_of("", event["kv"])
    return lines


def _lease_fields(to: Printer, answer: Answer) -> list[bytes | str]:
    lines = to.header({"header": answer})
    if "ID" in answer:
        lines.append(to.lease_id(answer["ID"]))
    if "TTL" in answer:
        lines.append(f'"TTL" : {answer["TTL"]}')
    return lines


def _live_fields(to: Printer, answer: Answer) -> list[bytes | str]:
    lines = [*to.header({"header": answer}), to.lease_id(answer["id"])]
    lines += [f'"TTL" : {answer["ttl"]}', f'"GrantedTTL" : {answer["granted-ttl"]}']
    return [*lines, *(f'"Key" : {_quoted(key)}' for key in answer.get("keys") or ())]


def _leases_fields(to: Printer, answer: Answer) -> list[bytes | str]:
    return [
        *to.header({"header": answer}),
        *(to.lease_id(lease["id"]) for lease in answer["leases"]),
    ]


def _members_fields(to: Printer, answer: Answer) -> list[bytes | str]:
    lines = to.header(answer)
    for member in answer["members"]:
        lines += [f'"ID" : {member["ID"]}', f'"Name" : "{member.get("name") or ""}"']
        lines += [f'"PeerURL" : "{url}"' for url in member["peerURLs"]]
        lines += [f'"ClientURL" : "{url}"' for url in member.get("clientURLs") or ()]
        lines += [f'"IsLearner" : {str(bool(member.get("isLearner"))).lower()}', ""]
    return lines


def _health_fields(to: Printer, answer: Answer) -> list[bytes | str]:
    lines: list[bytes | str] = []
    for entry in answer["list"]:
        health = str(entry["health"]).lower()
        lines += [f'"Endpoint" : "{entry["endpoint"]}"', f'"Health" : {health}']
        lines += [f'"Took" : {entry["took"]}', '"Error" : ', ""]
    return lines


def _status_fields(to: Printer, answer: Answer) -> list[bytes | str]:
    lines: list[bytes | str] = []
    for entry in answer["list"]:
        status = entry["Status"]
        lines += [*to.header(status), f'"Version" : "{status["version"]}"']
        lines += [f'"DBSize" : {status["dbSize"]}', f'"DBSizeInUse" : {status["dbSizeInUse"]}']
        lines += [f'"Leader" : {status["leader"]}', '"IsLearner" : false']
        lines += [f'"RaftIndex" : {status["raftIndex"]}', f'"RaftTerm" : {status["raftTerm"]}']
        lines += [f'"RaftAppliedIndex" : {status["raftAppliedIndex"]}', '"Errors" : []']
        lines += [f'"Endpoint" : "{entry["Endpoint"]}"', ""]
    return lines


def _hash_fields(to: Printer, answer: Answer) -> list[bytes | str]:
    lines: list[bytes | str] = []
    for entry in answer["list"]:
        lines += [*to.header(entry["HashKV"]), f'"Endpoint" : "{entry["Endpoint"]}"']
        lines += [f'"Hash" : {entry["HashKV"]["hash"]}', ""]
    return lines


def _alarm_fields(to: Printer, answer: Answer) -> list[bytes | str]:
    lines: list[bytes | str] = [*to.header(answer)]
    for alarm in answer.get("alarms", ()):
        lines += [f'"MemberID" : {alarm["memberID"]}', '"AlarmType" : NOSPACE', ""]
    return lines


_FIELDS: dict[str, Callable[[Printer, Answer], list[bytes | str]]] = {
    "range": _range_fields, "put": _put_fields, "delete": _delete_fields, "txn": _txn_fields,
    "watch": _watch_fields, "grant": _lease_fields, "revoke": _put_fields,
    "keepalive": _lease_fields, "timetolive": _live_fields, "leases": _leases_fields,
    "members": _members_fields, "health": _health_fields, "status": _status_fields,
    "hashkv": _hash_fields, "alarms": _alarm_fields,
}  # fmt: skip
