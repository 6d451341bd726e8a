"""Decoding against the golden objects, upstream's messages and Go's rules of what is written."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import orjson
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver_app.machinery import errors
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types import published, scheme
from apiserver_app.machinery.types.schema import Schema
from tests.fuzz.samples import examples

GOLDEN = pathlib.Path(__file__).parents[3] / "golden"
CORE = "io.k8s.api.core.v1"
POD = f"{CORE}.Pod"
DEPLOYMENT = "io.k8s.api.apps.v1.Deployment"
CRD = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"

TYPES = scheme.Types(Release(33))


def golden_deployment() -> Object:
    return json.loads((GOLDEN / "deployment-1.22.json").read_text())  # type: ignore[no-any-return]


def golden_pod() -> Object:
    class Loader(yaml.SafeLoader):
        pass

    Loader.yaml_implicit_resolvers = {
        first: [pair for pair in pairs if not pair[0].endswith("timestamp")]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return yaml.load((GOLDEN / "pod-1.22.yaml").read_text(), Loader)  # type: ignore[no-any-return]


def decode(definition: str, obj: Any) -> Object:
    out, messages = TYPES.decode(definition, obj)
    assert messages == []
    return out


def refusal(definition: str, obj: Any) -> str:
    with pytest.raises(errors.ApiError) as caught:
        TYPES.decode(definition, obj)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
    return caught.value.message


def shuffled(value: Any) -> Any:
    """The same value with every object's keys backwards."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


def containers(value: Any) -> Object:
    return {"spec": {"containers": [value]}}


def test_golden_deployment_comes_out_byte_for_byte_whatever_order_it_came_in() -> None:
    golden = golden_deployment()

    assert orjson.dumps(decode(DEPLOYMENT, golden)) == orjson.dumps(golden)
    # an opaque value keeps the order it came in
    backwards = shuffled(golden)
    backwards["metadata"]["managedFields"][0]["fieldsV1"] = golden["metadata"]["managedFields"][0][
        "fieldsV1"
    ]
    assert orjson.dumps(decode(DEPLOYMENT, backwards)) == orjson.dumps(golden)


def test_golden_pod_loses_and_gains_nothing() -> None:
    pod = golden_pod()
    out = decode(POD, pod)

    assert out == pod
    assert list(out) == ["kind", "apiVersion", "metadata", "spec", "status"]
    assert list(out["spec"])[:3] == ["volumes", "containers", "restartPolicy"]


def test_result_shares_nothing_that_could_be_changed() -> None:
    pod = golden_pod()
    before = json.dumps(pod)
    out = decode(POD, pod)

    out["metadata"]["labels"]["app"] = "other"
    out["spec"]["containers"][0]["resources"]["limits"] = {}
    out["spec"]["tolerations"].clear()
    out["status"]["conditions"][0]["type"] = "x"

    assert json.dumps(pod) == before


def test_unknown_fields_are_dropped_and_named_with_their_path() -> None:
    out, messages = TYPES.decode(
        DEPLOYMENT,
        {
            "apiVersion": "apps/v1", "kind": "Deployment", "bogus": 1,
            "spec": {"template": {"spec": {"containers": [
                {"name": "a", "bogus": {}, "env": [{"name": "A", "valu": "x"}]},
            ]}}},
        },
    )  # fmt: skip

    assert messages == [
        'unknown field "bogus"',
        'unknown field "spec.template.spec.containers[0].bogus"',
        'unknown field "spec.template.spec.containers[0].env[0].valu"',
    ]
    assert "bogus" not in orjson.dumps(out).decode()


def test_unknown_fields_are_not_named_when_they_are_ignored() -> None:
    assert TYPES.decode(POD, {"bogus": 1}, "Ignore")[1] == []


def test_field_names_are_case_sensitive() -> None:
    assert TYPES.decode(POD, {"Spec": {}})[1] == ['unknown field "Spec"']


@pytest.mark.parametrize(
    ("definition", "obj", "sentence"),
    [
        (
            DEPLOYMENT, {"spec": {"replicas": "3"}},
            "cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas "
            "of type int32",
        ),
        (
            POD, containers({"env": [{"value": 1}]}),
            "cannot unmarshal number into Go struct field EnvVar.spec.containers.env.value "
            "of type string",
        ),
        (
            POD, {"spec": {"containers": {}}},
            "cannot unmarshal object into Go struct field PodSpec.spec.containers "
            "of type []v1.Container",
        ),
        (
            POD, {"spec": {"containers": ["x"]}},
            "cannot unmarshal string into Go struct field PodSpec.spec.containers "
            "of type v1.Container",
        ),
        (
            POD, {"metadata": {"annotations": {"a": True}}},
            "cannot unmarshal bool into Go struct field ObjectMeta.metadata.annotations "
            "of type string",
        ),
        (
            POD, {"metadata": {"labels": ["a"]}},
            "cannot unmarshal array into Go struct field ObjectMeta.metadata.labels "
            "of type map[string]string",
        ),
        (
            POD, containers({"command": "sleep"}),
            "cannot unmarshal string into Go struct field Container.spec.containers.command "
            "of type []string",
        ),
        (
            POD, containers({"ports": [{"containerPort": 1.5}]}),
            "cannot unmarshal number 1.5 into Go struct field "
            "ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
        (
            POD, containers({"ports": [{"containerPort": 4294967296}]}),
            "cannot unmarshal number 4294967296 into Go struct field "
            "ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
        (
            POD, containers({"imagePullPolicy": True}),
            "cannot unmarshal bool into Go struct field Container.spec.containers.imagePullPolicy "
            "of type v1.PullPolicy",
        ),
        (
            POD, {"spec": {"hostNetwork": "yes"}},
            "cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool",
        ),
        (
            f"{CORE}.Service", {"spec": {"ports": [{"targetPort": True}]}},
            "cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort "
            "of type int32",
        ),
        (POD, [], "cannot unmarshal array into Go value of type v1.Pod"),
    ],
)  # fmt: skip
def test_value_of_the_wrong_type_is_refused_in_gos_words(
    definition: str, obj: Any, sentence: str
) -> None:
    kind = definition.rsplit(".", 1)[1]

    assert refusal(definition, obj) == (
        f'{kind} in version "v1" cannot be handled as a {kind}: json: {sentence}'
    )


@pytest.mark.parametrize(
    ("definition", "obj", "sentence"),
    [
        (
            POD, {"metadata": {"creationTimestamp": "yesterday"}},
            'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": '
            'cannot parse "yesterday" as "2006"',
        ),
        (
            POD, {"metadata": {"creationTimestamp": "2022-02-16 15:53:28Z"}},
            'parsing time "2022-02-16 15:53:28Z" as "2006-01-02T15:04:05Z07:00": '
            'cannot parse " 15:53:28Z" as "T"',
        ),
        (
            POD, {"metadata": {"creationTimestamp": "2022-13-16T15:53:28Z"}},
            'parsing time "2022-13-16T15:53:28Z": month out of range',
        ),
        (
            POD, {"metadata": {"creationTimestamp": "2022-02-16T15:53:28Zx"}},
            'parsing time "2022-02-16T15:53:28Zx": extra text: "x"',
        ),
        (
            "io.k8s.api.coordination.v1.Lease", {"spec": {"renewTime": "2022-02-16T15:53:28Z"}},
            'parsing time "2022-02-16T15:53:28Z" as "2006-01-02T15:04:05.000000Z07:00": '
            'cannot parse "Z" as ".000000"',
        ),
        (
            POD, containers({"resources": {"limits": {"cpu": "lots"}}}),
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            POD, containers({"resources": {"limits": {"cpu": "1KiMi"}}}),
            "unable to parse quantity's suffix",
        ),
        (f"{CORE}.Secret", {"data": {"a": "abc"}}, "illegal base64 data at input byte 0"),
        (f"{CORE}.Secret", {"data": {"a": "YW$i"}}, "illegal base64 data at input byte 2"),
    ],
)  # fmt: skip
def test_text_that_does_not_parse_is_refused_in_gos_words(
    definition: str, obj: Any, sentence: str
) -> None:
    kind = definition.rsplit(".", 1)[1]

    assert refusal(definition, obj) == (
        f'{kind} in version "v1" cannot be handled as a {kind}: {sentence}'
    )


def test_refusal_names_the_kind_and_version_that_were_sent() -> None:
    sent = {"kind": "Deployment", "apiVersion": "apps/v1beta1", "spec": 1}

    assert refusal(DEPLOYMENT, sent).startswith(
        'Deployment in version "v1beta1" cannot be handled as a Deployment: '
    )


def test_null_is_absent() -> None:
    out = decode(POD, {
        "metadata": {"labels": None, "deletionTimestamp": None},
        "spec": {"containers": [{"name": "a", "securityContext": None, "image": None}],
                 "tolerations": None, "priority": None},
    })  # fmt: skip

    assert out == {
        "metadata": {"creationTimestamp": None},
        "spec": {"containers": [{"name": "a", "resources": {}}]},
        "status": {},
    }


def test_null_in_a_list_or_map_is_the_zero_value() -> None:
    out = decode(POD, {
        "metadata": {"labels": {"a": None}},
        "spec": {"containers": [None], "initContainers": [{"name": "i", "args": [None, "x"]}]},
    })  # fmt: skip

    assert out["metadata"]["labels"] == {"a": ""}
    assert out["spec"]["containers"] == [{"name": "", "resources": {}}]
    assert out["spec"]["initContainers"][0]["args"] == ["", "x"]


def test_zero_values_stay_only_where_go_has_a_pointer() -> None:
    out = decode(POD, {"spec": {
        "containers": [{"name": "a", "image": "", "ports": [], "stdin": False, "env": []}],
        "nodeName": "", "hostNetwork": False, "nodeSelector": {}, "volumes": [],
        "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0, "priority": 0,
        "runtimeClassName": "", "securityContext": {},
    }})  # fmt: skip

    assert out["spec"] == {
        "containers": [{"name": "a", "resources": {}}],
        "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False,
        "securityContext": {}, "priority": 0, "runtimeClassName": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("definition", "written"),
    [
        (f"{CORE}.Namespace", {"metadata": {"creationTimestamp": None}, "spec": {}, "status": {}}),
        ("io.k8s.api.rbac.v1.ClusterRole", {
            "metadata": {"creationTimestamp": None}, "rules": None,
        }),
        (f"{CORE}.ContainerStatus", {
            "name": "", "state": {}, "lastState": {}, "ready": False, "restartCount": 0,
            "image": "", "imageID": "",
        }),
        (f"{CORE}.ServiceStatus", {"loadBalancer": {}}),
        ("io.k8s.api.policy.v1.PodDisruptionBudgetStatus", {
            "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0,
        }),
        ("io.k8s.api.apps.v1.DeploymentStatus", {}),
        ("io.k8s.api.apps.v1.ReplicaSetStatus", {"replicas": 0}),
        (f"{CORE}.ResourceFieldSelector", {"resource": "", "divisor": "0"}),
    ],
)  # fmt: skip
def test_go_writes_these_of_an_empty_struct(definition: str, written: Object) -> None:
    assert orjson.dumps(decode(definition, {})) == orjson.dumps(written)


def test_creation_timestamp_is_no_longer_written_when_zero_from_1_34_on() -> None:
    out, _ = scheme.Types(Release(34)).decode(DEPLOYMENT, {})

    assert out == {"metadata": {}, "spec": {
        "template": {"metadata": {}, "spec": {"containers": None}}, "strategy": {},
    }, "status": {}}  # fmt: skip


def test_keys_of_maps_are_sorted_as_go_writes_them() -> None:
    out = decode(f"{CORE}.ConfigMap", {"data": {"b": "1", "a": "2", "c": "3"}})

    assert list(out["data"]) == ["a", "b", "c"]


def test_times_are_written_in_utc_and_whole_seconds() -> None:
    out = decode(POD, {"metadata": {"creationTimestamp": "2022-02-16T16:53:28.9+01:00"}})

    assert out["metadata"]["creationTimestamp"] == "2022-02-16T15:53:28Z"


def test_quantities_are_canonical_texts_however_they_came() -> None:
    limits = {"a": 2, "b": 0.5, "c": " 1Gi", "d": "1e3"}
    out = decode(POD, containers({"resources": {"limits": limits}}))

    assert out["spec"]["containers"][0]["resources"]["limits"] == {
        "a": "2", "b": "500m", "c": "1Gi", "d": "1e3",
    }  # fmt: skip


def test_port_may_be_a_number_or_a_name() -> None:
    out = decode(f"{CORE}.Service", {"spec": {"ports": [
        {"port": 80, "targetPort": "http"}, {"port": 81, "targetPort": 8081},
    ]}})  # fmt: skip

    assert [port["targetPort"] for port in out["spec"]["ports"]] == ["http", 8081]


def test_line_breaks_in_base64_are_dropped() -> None:
    assert decode(f"{CORE}.Secret", {"data": {"a": "YWJj\nZA==\n"}})["data"] == {"a": "YWJjZA=="}


def test_schema_of_a_custom_resource_holds_itself_and_any_json() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"default": {"b": None}, "items": {"type": "string"}}},
        "additionalProperties": True,
    }
    out = decode(CRD, {"spec": {"versions": [
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}},
    ]}})  # fmt: skip

    assert out["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == schema


@pytest.mark.parametrize("version", ["1.22", "1.25", "1.33", "1.37"])
def test_every_served_kind_and_its_list_decode_in_every_version(version: str) -> None:
    index, decoder = kinds.Resources(Release.parse(version)), scheme.Types(Release.parse(version))

    for info in index.all:
        once, messages = decoder.decode(info.definition, {"kind": info.kind, "metadata": {}})
        assert messages == []
        assert decoder.decode(info.definition, once) == (once, [])


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 70000)
    | st.sampled_from(["", "a", "http", "1Gi", "2022-02-16T15:53:28Z"])
)
NAMES = st.sampled_from([
    "metadata", "name", "labels", "spec", "status", "containers", "ports", "containerPort", "env",
    "resources", "limits", "cpu", "volumes", "emptyDir", "hostNetwork", "replicas", "template",
    "creationTimestamp", "selector", "matchLabels", "targetPort", "conditions", "bogus",
])  # fmt: skip
TREES = st.dictionaries(
    NAMES,
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
        max_leaves=20,
    ),
    max_size=5,
)


@settings(max_examples=examples(300), deadline=None)
@given(TREES, st.sampled_from([POD, DEPLOYMENT, f"{CORE}.Service", f"{CORE}.ConfigMap"]))
def test_decoding_is_idempotent_or_refused(tree: Object, definition: str) -> None:
    before = json.dumps(tree)
    try:
        once, _ = TYPES.decode(definition, tree)
    except errors.ApiError as error:
        assert error.code == 400
    else:
        assert orjson.dumps(TYPES.decode(definition, once)[0]) == orjson.dumps(once)
        assert TYPES.decode(definition, once)[1] == []
    assert json.dumps(tree) == before


def test_schema_tells_how_lists_are_merged() -> None:
    spec = TYPES.schema(f"{CORE}.PodSpec")
    found = spec.field("containers")

    assert found is not None
    assert (found.kind, found.merge_key, found.patch_strategies) == ("list", "name", ("merge",))
    assert (found.list_type, found.list_keys) == ("map", ("name",))
    assert found.schema is TYPES.schema(f"{CORE}.Container")
    volumes = spec.fields["volumes"]
    assert volumes.patch_strategies == ("merge", "retainKeys")
    ports = TYPES.schema(f"{CORE}.Container").fields["ports"]
    assert (ports.merge_key, ports.list_keys) == ("containerPort", ("containerPort", "protocol"))
    assert TYPES.schema(f"{CORE}.ContainerPort").fields["protocol"].default == "TCP"


def test_schema_tells_what_is_replaced_whole() -> None:
    assert TYPES.schema("io.k8s.api.apps.v1.DeploymentSpec").fields["selector"].atomic
    assert TYPES.schema(f"{CORE}.Container").fields["command"].atomic
    assert TYPES.schema(f"{CORE}.PodSpec").fields["nodeSelector"].atomic
    assert not TYPES.schema(f"{CORE}.ConfigMap").fields["data"].atomic


def test_fields_of_a_schema_are_in_gos_order() -> None:
    assert list(TYPES.schema(f"{CORE}.Volume").fields)[:3] == ["name", "hostPath", "emptyDir"]
    assert list(TYPES.schema("io.k8s.api.core.v1.Probe").fields)[:4] == [
        "exec", "httpGet", "tcpSocket", "grpc",
    ]  # fmt: skip


def test_go_table_covers_every_field_of_every_served_kind() -> None:
    reader = TYPES.schema
    todo = [info.definition for info in kinds.resources(Release(33))]
    seen: set[str] = set()
    while todo:
        definition = todo.pop()
        if definition in seen:
            continue
        seen.add(definition)
        for name, field in reader(definition).fields.items():
            assert field.go is not None or name in ("kind", "apiVersion"), (definition, name)
            child = field.schema
            if child is not None:
                todo.append(child.definition)
    assert len(seen) > 300


def test_version_without_schemas_of_its_own_takes_the_nearest() -> None:
    assert published.path_of(Release(22)) == published.path_of(Release(25))
    assert "v1.33.0" in str(published.path_of(Release.parse("v1.33.4")))


def test_a_custom_resource_of_one_cluster_is_unknown_to_another() -> None:
    one, other = scheme.Types(Release(33)), scheme.Types(Release(33))
    custom = Schema("com.example.v1.Width", "Width", {})
    one.serve(custom, lambda obj: ({**obj, "decoded": "here"}, []))

    assert one.schema(custom.definition) is custom
    assert one.decode(custom.definition, {})[0] == {"decoded": "here"}
    assert not other.knows(custom.definition)
    assert one.schema(POD) is other.schema(POD)

    one.withdraw(custom.definition)
    assert not one.knows(custom.definition)
