"""What goes into and comes out of the product API. Input is checked here; output is described."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rest_framework import serializers

from controllers_app import roles

ACTIONS = (
    "pause",
    "resume",
    "step",
    "step-request",
    "speed",
    "breakpoint",
    "role",
    "fault",
    "apiserver",
    "etcd",
    "reset",
    "stage",
)

MANIFEST_CHARACTERS_MAX = 3 * 2**20
GET_MAX = 10  # types and names of one `get`


class Input(serializers.Serializer[Any]):
    """The body of a request. A field that there is not is refused: it would change nothing."""

    def to_internal_value(self, data: Any) -> Any:
        for name in data if isinstance(data, Mapping) else ():
            if name not in self.fields:
                known = ", ".join(self.fields)
                raise serializers.ValidationError({name: [f"is no field; there are {known}"]})
        return super().to_internal_value(data)


class Choice(serializers.ChoiceField):
    """One of some words, which a refusal names."""

    def __init__(self, choices: Sequence[str], **more: Any) -> None:
        super().__init__(choices, **more)
        words = ", ".join(word for word in choices if word)
        self.error_messages["invalid_choice"] = f'"{{input}}" is none of {words}'


class BreakpointSerializer(serializers.Serializer[Any]):
    """Fields beside id and kind must equal those of the record or of its request."""

    id = serializers.CharField(required=False, max_length=64)
    kind = serializers.CharField(max_length=32, help_text="kind of record, e.g. gate")

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        super().to_internal_value(data)
        return dict(data)


class ControlSerializer(Input):
    action = Choice(ACTIONS)
    speed = serializers.JSONField(required=False, help_text='0.1 to 1000, or "max"')
    set = BreakpointSerializer(many=True, required=False, help_text="all breakpoints from now on")
    role = Choice(roles.ROLES, required=False)
    do = Choice(roles.ACTIONS, required=False)
    component = serializers.CharField(required=False, max_length=64)
    resource = serializers.CharField(
        required=False, max_length=253, help_text="of a fault: whose writes fail; none is all"
    )
    op = Choice(("create", "update", "delete"), required=False)
    message = serializers.CharField(
        required=False, max_length=500, help_text="of a fault: what etcd answers"
    )
    times = serializers.IntegerField(
        required=False, min_value=0, max_value=1000, help_text="how many writes fail; 0 ends all"
    )

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        needed = {
            "speed": ("speed",),
            "breakpoint": ("set",),
            "role": ("role", "do"),
            **dict.fromkeys(("apiserver", "etcd"), ("do",)),
        }
        for field in needed.get(given["action"], ()):
            if field not in given:
                raise serializers.ValidationError(f"{given['action']} needs {field}")
        return given


class ConsoleSerializer(Input):
    """One line of the etcd console."""

    command = serializers.CharField(
        max_length=32_768, allow_blank=True, help_text="e.g. etcdctl get /registry/pods --prefix"
    )
    stdin = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=32_768,
        trim_whitespace=False,
        help_text="what the command reads, e.g. of etcdctl txn",
    )


class ConsoleAnswerSerializer(serializers.Serializer[Any]):
    output = serializers.CharField(help_text="bytes that are no text are shown as U+FFFD")
    errors = serializers.CharField()
    exit_code = serializers.IntegerField()
    revision = serializers.IntegerField(help_text="of the store, after the command")


class ServiceRequestSerializer(Input):
    """One GET to a Service."""

    port = serializers.IntegerField(min_value=1, max_value=65_535)
    path = serializers.CharField(required=False, default="/", max_length=1000)


class ServiceAnswerSerializer(serializers.Serializer[Any]):
    code = serializers.IntegerField(help_text="of HTTP: the pod's, or the API server's")
    answer = serializers.CharField(help_text="the beginning of the body")


class ObjectRequestSerializer(Input):
    """One change of one object that is there."""

    verb = Choice(("update", "patch", "delete"))
    api_version = serializers.RegexField(r"^([a-z0-9][a-z0-9.-]*/)?v[a-z0-9]+$", max_length=300)
    resource = serializers.CharField(max_length=253, help_text="the plural, e.g. deployments")
    subresource = Choice(("", "scale"), required=False, default="")
    namespace = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=253,
        help_text="none for what belongs to no namespace",
    )
    name = serializers.CharField(max_length=253)
    patch = serializers.DictField(
        required=False, default=dict, help_text="a JSON merge patch; of a deletion its options"
    )
    manifest = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=MANIFEST_CHARACTERS_MAX,
        trim_whitespace=False,
        help_text="of an update: the whole object, as YAML or JSON",
    )
    dry_run = serializers.BooleanField(
        required=False, default=False, help_text="all is checked, and nothing stored"
    )


class CauseSerializer(serializers.Serializer[Any]):
    field = serializers.CharField(allow_blank=True, help_text="e.g. spec.replicas")
    message = serializers.CharField(allow_blank=True)


class OpenApiAnswerSerializer(serializers.Serializer[Any]):
    """The schema of one kind, and those it refers to."""

    root = serializers.CharField(allow_blank=True, help_text="its name; none where there is none")
    schemas = serializers.DictField()
    message = serializers.CharField(allow_blank=True, help_text="why there is none")


class ObjectAnswerSerializer(serializers.Serializer[Any]):
    code = serializers.IntegerField(help_text="of HTTP")
    reason = serializers.CharField(allow_blank=True)
    message = serializers.CharField(allow_blank=True, help_text="the Status's own sentence")
    causes = CauseSerializer(many=True)


class StateSerializer(serializers.Serializer[Any]):
    """A cluster as it is now. Times are µs of virtual time since the epoch."""

    cluster = serializers.CharField()
    mode = serializers.ChoiceField(choices=("run", "max", "paused"))
    speed = serializers.JSONField()
    now = serializers.IntegerField()
    epoch = serializers.CharField()
    frozen = serializers.BooleanField()
    held = serializers.JSONField(allow_null=True)
    waiting = serializers.IntegerField(help_text="requests that wait while it is frozen")
    apiserver = serializers.ChoiceField(choices=("serving", "stopping", "stopped"))
    etcd = serializers.ChoiceField(choices=("running", "stopped"))
    alarm = serializers.CharField(allow_blank=True, help_text="why the store takes no writes")
    quarantined = serializers.ListField(
        child=serializers.CharField(), help_text="what stopped the cluster twice and is not run"
    )
    breakpoints = BreakpointSerializer(many=True)
    seq = serializers.IntegerField()
    revision = serializers.IntegerField()
    version = serializers.CharField()
    seed = serializers.IntegerField()
    profile = serializers.CharField()
    nodes = serializers.IntegerField()
    ready = serializers.BooleanField()
    untouched = serializers.BooleanField(
        help_text="nobody outside has changed anything: all that is there is its own work"
    )
    stage = serializers.CharField(
        allow_blank=True,
        help_text="another cluster, where who drives shows something to who only watches",
    )
    votes = serializers.JSONField(
        allow_null=True, help_text="the cycle that was asked about, by its span, and counts by node"
    )
    roles = serializers.JSONField()


class VoteSerializer(Input):
    span = serializers.IntegerField(help_text="of the scheduling cycle that is held")
    page = serializers.CharField(max_length=64, help_text="whose last answer counts")
    node = serializers.CharField(max_length=253)


class VotesSerializer(serializers.Serializer[Any]):
    span = serializers.IntegerField()
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="by node")


class ClusterListSerializer(serializers.Serializer[Any]):
    clusters = StateSerializer(many=True)


class NewForkSerializer(Input):
    """Where and how a fork begins."""

    seq = serializers.IntegerField(required=False, help_text="right after this record; or")
    revision = serializers.IntegerField(required=False, help_text="right after this write; or")
    anew = serializers.BooleanField(
        required=False, help_text="as the cluster was when it was ready, running at once"
    )
    replaces = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="one that was begun anew, which goes once this one is ready",
    )
    seed = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=2**63 - 1,
        help_text="of its random numbers from there on; else they go on as the cluster's",
    )
    title = serializers.CharField(required=False, max_length=100, allow_blank=True)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        if sum(("seq" in given, "revision" in given, given.get("anew", False))) != 1:
            raise serializers.ValidationError(
                'a moment is needed: either "seq" or "revision", or "anew"'
            )
        return given


class ForkSerializer(serializers.Serializer[Any]):
    """A cluster that began as another one was at a moment of its trace."""

    name = serializers.CharField(help_text="of the cluster that it is, once it is ready")
    cluster = serializers.CharField(help_text="which it was made from")
    seq = serializers.IntegerField(help_text="the last record that both have")
    revision = serializers.IntegerField(help_text="the last that both have")
    t = serializers.IntegerField(help_text="of that record")
    seed = serializers.IntegerField()
    title = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(choices=("making", "ready", "failed"))
    done = serializers.FloatField(help_text="0 to 1")
    how = serializers.ChoiceField(
        choices=("rerun", "objects", "anew"),
        allow_null=True,
        help_text="rerun: exact, everything as it was; objects: its components started anew; "
        "anew: it began from nothing",
    )
    why = serializers.CharField(allow_blank=True, help_text="it is not exact, or it failed")
    anew = serializers.BooleanField(help_text="nothing of its past is the cluster's")


class ForkListSerializer(serializers.Serializer[Any]):
    forks = ForkSerializer(many=True)


class DifferenceSerializer(serializers.Serializer[Any]):
    """Where what an object says parts from what it says in the other cluster."""

    key = serializers.CharField(help_text="resource/namespace/name")
    kind = serializers.CharField(allow_blank=True)
    namespace = serializers.CharField(allow_blank=True)
    name = serializers.CharField()
    name_there = serializers.CharField(help_text="differs where a name was generated")
    what = serializers.CharField(help_text='a field such as spec.nodeName, or "existence"')
    there = serializers.JSONField(allow_null=True, help_text="in the cluster it was made from")
    here = serializers.JSONField(allow_null=True, help_text="in the fork")
    after = serializers.IntegerField(help_text="of virtual time since the fork")
    asked = serializers.BooleanField(help_text="somebody outside wrote it, on either side")
    seq_there = serializers.IntegerField(allow_null=True, help_text="record of the write")
    seq_here = serializers.IntegerField(allow_null=True, help_text="record of the write")


class ComparisonSerializer(serializers.Serializer[Any]):
    """What diverged, the earliest first. Times are µs of virtual time since the fork."""

    vars()["from"] = serializers.IntegerField(help_text="the last record that both have")
    until = serializers.IntegerField(help_text="up to when both were compared")
    first = DifferenceSerializer(allow_null=True, help_text="the first that nobody asked for")
    differences = DifferenceSerializer(many=True, help_text="at most 100")
    more = serializers.IntegerField(help_text="how many there are besides")


class NodeRulesSerializer(serializers.Serializer[Any]):
    text = serializers.CharField(help_text="empty where the mode is not one that can be shown")
    on = serializers.ListField(child=serializers.CharField(), help_text="the nodes that have it")


class RulesSerializer(serializers.Serializer[Any]):
    """The rules of one Service. Of a large cluster the first nodes are looked at."""

    mode = serializers.CharField(help_text="of kube-proxy")
    texts = NodeRulesSerializer(many=True, help_text="one where all nodes have the same")
    of = serializers.IntegerField(help_text="nodes there are")
    revision = serializers.IntegerField(help_text="of the store")


class ObjectsSerializer(serializers.Serializer[Any]):
    objects = serializers.DictField(help_text="by key of the store")
    revision = serializers.IntegerField()


class MomentSerializer(serializers.Serializer[Any]):
    seq = serializers.IntegerField(help_text="the record of the write")
    t = serializers.IntegerField(help_text="of that record")
    revision = serializers.IntegerField()


class MomentAnswerSerializer(serializers.Serializer[Any]):
    moment = MomentSerializer(allow_null=True, help_text="null: not kept, or not written yet")
    oldest = serializers.IntegerField(
        allow_null=True, help_text="revision that is kept, for one that is not"
    )
    newest = serializers.IntegerField(help_text="revision there is")


class ObjectSerializer(serializers.Serializer[Any]):
    object = serializers.JSONField(allow_null=True)


class BytesSerializer(serializers.Serializer[Any]):
    """Bytes for somebody who looks at them."""

    media = serializers.CharField()
    size = serializers.IntegerField()
    text = serializers.CharField(allow_blank=True, help_text="none of protobuf")
    hex = serializers.CharField(help_text="of the first 2,048 bytes")


class StoredSerializer(BytesSerializer):
    """What etcd holds of an object."""

    key = serializers.CharField()
    revision = serializers.IntegerField()
    object = serializers.DictField(allow_null=True, help_text="the same, decoded")


class FormsSerializer(serializers.Serializer[Any]):
    """One object in its forms. A component hands its object over as it is: that has no bytes."""

    body = BytesSerializer(allow_null=True)
    internal = serializers.DictField(allow_null=True, help_text="decoded, with defaults")
    stored = StoredSerializer(allow_null=True)


class ServerSerializer(serializers.Serializer[Any]):
    """One of the three servers, in the order in which they are made."""

    name = serializers.CharField()
    delegate = serializers.CharField(help_text="who is offered what it does not have")
    groups = serializers.ListField(child=serializers.CharField())
    hooks = serializers.IntegerField()


class StartupSerializer(serializers.Serializer[Any]):
    """How an API server was built. Lists of lists are rows; docs/trace-format.md names them."""

    version = serializers.CharField()
    flags = serializers.DictField(help_text="those that are not as upstream has them")
    authentication = serializers.JSONField()
    admission = serializers.JSONField()
    plugins = serializers.DictField(help_text="of admission, by name")
    gates = serializers.ListField(child=serializers.DictField())
    costs = serializers.DictField(help_text="µs of virtual time by kind of record")
    kinds = serializers.DictField(help_text="resource -> kind")
    config = serializers.JSONField(help_text="[step, what came of it]")
    servers = ServerSerializer(many=True)
    routes = serializers.JSONField(help_text="[path, whether it is served]")
    providers = serializers.ListField(child=serializers.DictField())
    install = serializers.JSONField(help_text="[step, what came of it] of kube-apiserver")
    strategies = serializers.JSONField(help_text="[resource, upstream's name, own steps]")
    steps = serializers.JSONField(help_text="[step, how many things it made]")
    hooks = serializers.DictField(help_text="by server")
    checks = serializers.DictField(help_text="by path")
    storages = serializers.ListField(child=serializers.DictField())
    pod_storages = serializers.JSONField(help_text="[member of PodStorage, path]")
    table = serializers.JSONField(help_text="[method, path, resource, server]")


class ResultSerializer(serializers.Serializer[Any]):
    """What became of one object."""

    kind = serializers.CharField()
    namespace = serializers.CharField(allow_blank=True)
    name = serializers.CharField(allow_blank=True)
    code = serializers.IntegerField()
    reason = serializers.CharField(allow_blank=True)
    message = serializers.CharField(allow_blank=True)
    causes = CauseSerializer(many=True)


class GetSerializer(Input):
    """What `kubectl get` is asked for: `get TYPES [NAMES]` with its flags."""

    types = serializers.ListField(
        child=serializers.CharField(max_length=317), min_length=1, max_length=GET_MAX
    )
    names = serializers.ListField(
        child=serializers.CharField(max_length=253),
        required=False,
        default=list,
        max_length=GET_MAX,
    )
    namespace = serializers.CharField(required=False, default="", allow_blank=True, max_length=253)
    all_namespaces = serializers.BooleanField(required=False, default=False)
    selector = serializers.CharField(required=False, default="", allow_blank=True, max_length=1000)
    output = Choice(("", "wide", "name"), required=False, default="")


class LineSerializer(serializers.Serializer[Any]):
    text = serializers.CharField(allow_blank=True)
    failed = serializers.BooleanField()
    table = serializers.BooleanField(help_text="its columns stand below each other")


class LinesSerializer(serializers.Serializer[Any]):
    lines = LineSerializer(many=True)


class ResultsSerializer(serializers.Serializer[Any]):
    results = ResultSerializer(many=True)


class RecordsSerializer(serializers.Serializer[Any]):
    records = serializers.ListField(child=serializers.DictField())
    last = serializers.IntegerField(help_text="seq of the last record given; from - 1 if none")
    next = serializers.IntegerField(
        allow_null=True, help_text="where to go on; an answer may hold fewer than asked for"
    )


class SavedRecordsSerializer(RecordsSerializer):
    header = serializers.DictField(help_text="the first line of the file")


class BookmarkSerializer(serializers.Serializer[Any]):
    seq = serializers.IntegerField(help_text="the record")
    t = serializers.IntegerField(help_text="its virtual time")
    title = serializers.CharField(max_length=80)


class BookmarksSerializer(serializers.Serializer[Any]):
    bookmarks = BookmarkSerializer(many=True)


class TraceSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    cluster = serializers.CharField()
    kubernetes = serializers.CharField()
    epoch = serializers.CharField()
    first = serializers.IntegerField()
    last = serializers.IntegerField()
    cut = serializers.IntegerField(required=False)
    size_bytes = serializers.IntegerField()
    bookmarks = BookmarkSerializer(many=True, required=False)


class TraceListSerializer(serializers.Serializer[Any]):
    traces = TraceSerializer(many=True)


class SaveTraceSerializer(Input):
    name = serializers.CharField(max_length=100)
    cluster = serializers.CharField(required=False, max_length=63)


class CastSerializer(serializers.Serializer[Any]):
    users = serializers.ListField(child=serializers.CharField())
    namespaces = serializers.DictField(child=serializers.CharField())
