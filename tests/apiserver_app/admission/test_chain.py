"""The chain: upstream's order, two phases, everyone told of."""

from __future__ import annotations

import pytest

from apiserver_app.admission.chain import Chain
from apiserver_app.admission.plugin import CREATE, DELETE, UPDATE, Attributes, Plugin, Verdict
from apiserver_app.auth.authz import union
from apiserver_app.machinery import errors
from apiserver_app.machinery.patch import jsonpatch
from apiserver_app.machinery.rand import Rand
from tests.apiserver_app.admission.conftest import ADMIN, NOW, RESOURCES, Cluster, pod
from tests.apiserver_app.memory import MemoryReader, run


def _asked(cluster: Cluster, phase: str) -> list[str]:
    return [one.plugin for one in cluster.told if one.phase == phase and one.verdict != "skip"]


def test_pod_is_asked_about_in_both_phases_and_each_plugin_says_why(cluster: Cluster) -> None:
    cluster.send("pods", pod())

    assert _asked(cluster, "mutating") == [
        "NamespaceLifecycle",
        "LimitRanger",
        "ServiceAccount",
        "Priority",
        "DefaultTolerationSeconds",
        "RuntimeClass",
        "MutatingAdmissionWebhook",
    ]
    assert _asked(cluster, "validating") == [
        "LimitRanger",
        "ServiceAccount",
        "PodSecurity",
        "RuntimeClass",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionWebhook",
        "ResourceQuota",
    ]
    why = {one.plugin: one.why for one in cluster.told if one.phase == "mutating"}
    assert why["NamespaceLifecycle"] == "default is active"
    assert why["LimitRanger"] == "no LimitRange here"
    assert why["MutatingAdmissionWebhook"] == "no webhook configuration matches"
    assert why["ServiceAccount"] == "runs as default: 4 changes"


def test_plugins_that_were_not_concerned_are_recorded_once_a_phase(cluster: Cluster) -> None:
    cluster.send("pods", pod())

    skipped = [one for one in cluster.told if one.verdict == "skip"]

    assert [one.phase for one in skipped] == ["mutating", "validating"]
    assert skipped[0].plugin.split(",") == [
        "TaintNodesByCondition",
        "DefaultStorageClass",
        "StorageObjectInUseProtection",
        "DefaultIngressClass",
        "NodeRestriction",
    ]


def test_the_records_of_a_phase_cover_every_plugin_of_that_phase(cluster: Cluster) -> None:
    cluster.send("configmaps", {"metadata": {"name": "a", "namespace": "default"}})

    for phase, kind in (("mutating", "mutates"), ("validating", "validates")):
        told = [
            name for one in cluster.told if one.phase == phase for name in one.plugin.split(",")
        ]
        wanted = [plugin.name for plugin in cluster.chain.plugins if getattr(plugin, kind)]
        assert sorted(told) == sorted(wanted)


def test_the_patches_told_make_the_object(cluster: Cluster) -> None:
    before = pod()
    after = cluster.send("pods", before)
    for one in cluster.told:
        before = jsonpatch.apply_json_patch(before, one.ops)

    assert before == after


def test_a_told_patch_does_not_change_when_a_later_plugin_goes_on(cluster: Cluster) -> None:
    cluster.reader.put(
        "runtimeclasses.node.k8s.io",
        {"metadata": {"name": "vm"}, "scheduling": {"tolerations": [{"key": "vm"}]}},
    )

    first = cluster.send("pods", pod(runtimeClassName="vm"))
    second = cluster.send("pods", pod())

    assert len(first["spec"]["tolerations"]) == 3
    assert len(second["spec"]["tolerations"]) == 2


class _Refuses(Plugin):
    name = "Refuses"
    validates = True

    def validate(self, attributes: Attributes) -> Verdict:
        raise errors.forbidden("", "pods", attributes.name, "never")


class _Never(Plugin):
    name = "Never"
    validates = True

    def validate(self, attributes: Attributes) -> Verdict:
        raise AssertionError("asked behind a refusal")


def test_a_refusal_ends_the_chain_and_is_told_with_its_message() -> None:
    told: list[tuple[str, str, str]] = []

    async def tell(phase: str, plugin: str, verdict: str, why: str, ops: object) -> None:
        told.append((plugin, verdict, why))

    attributes = Attributes(
        CREATE, RESOURCES.by_key["pods"], "", "default", "web", pod(), None, ADMIN,
        MemoryReader(), Rand(1), NOW, authorization=union.build(["AlwaysDeny"], MemoryReader()),
        warnings=[], annotations={},
    )  # fmt: skip
    with pytest.raises(errors.ApiError) as caught:
        run(Chain([_Refuses(), _Never()]).validate(attributes, tell))

    assert caught.value.message == 'pods "web" is forbidden: never'
    assert told == [("Refuses", "deny", 'pods "web" is forbidden: never')]


class _Names(Plugin):
    name = "Names"
    handles = (UPDATE,)
    mutates = True

    def admit(self, attributes: Attributes) -> Verdict:
        op = {"op": "add", "path": "/spec/containers/0/name", "value": "other"}
        return Verdict("change", "named", [op])


def test_a_spec_that_is_still_the_stored_one_is_changed_in_a_copy() -> None:
    async def tell(phase: str, plugin: str, verdict: str, why: str, ops: object) -> None:
        pass

    old = pod()
    obj = {**old, "status": {"phase": "Running"}}
    attributes = Attributes(
        UPDATE, RESOURCES.by_key["pods"], "status", "default", "web", obj, old, ADMIN,
        MemoryReader(), Rand(1), NOW, authorization=union.build(["AlwaysDeny"], MemoryReader()),
        warnings=[], annotations={},
    )  # fmt: skip
    assert run(Chain([_Names()]).mutate(attributes, tell)) == 1
    assert obj["spec"]["containers"][0]["name"] == "other"
    assert old == pod()


def test_on_delete_only_who_handles_deletes_is_asked(cluster: Cluster) -> None:
    cluster.send("pods", None, operation=DELETE, old=pod())

    assert _asked(cluster, "mutating") == ["NamespaceLifecycle", "MutatingAdmissionWebhook"]
