"""The tuple of controllers: names, identities, and one file each."""

from __future__ import annotations

from apiserver_app.machinery import meta
from controllers_app.controllers import CONTROLLERS
from tests.controllers_app.controllers.lab import Lab


def test_names_differ_and_identities_are_service_accounts_of_the_cluster(lab: Lab) -> None:
    names = [entry.name for entry in CONTROLLERS]
    assert len(set(names)) == len(names)
    accounts = lab.names("serviceaccounts", "kube-system")
    assert {entry.account for entry in CONTROLLERS if entry.account} <= set(accounts)
    identities = {entry.name: entry.identity for entry in CONTROLLERS}
    assert identities["deployment"] == "system:serviceaccount:kube-system:deployment-controller"
    assert identities["accounttokens"] == "system:kube-controller-manager"


def test_all_of_them_run_and_none_is_refused_anything(lab: Lab) -> None:
    states = lab.cluster.roles["controllers"].states()
    of_1_33 = (entry.name for entry in CONTROLLERS if entry.since <= 33 <= entry.until)
    assert set(states) == {"controllermanager", *of_1_33}
    assert set(states.values()) == {"running"}
    lab.run(600)
    refused = [fields for fields in lab.records("response") if fields[0] in (401, 403)]
    assert refused == []


def test_a_revision_is_told_with_the_controllers_whose_cache_it_reached(lab: Lab) -> None:
    lab.call(lab.admin.create("replicasets.apps", "default", {
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "a"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }},
    }))  # fmt: skip
    [told] = [
        fields[3]
        for fields in lab.records("watch")
        if fields[1] == "ADDED" and fields[2] == "replicasets.apps"
    ]
    assert {"deployment", "replicaset", "garbagecollector"} <= set(told)
    assert "endpoints" not in told


def test_a_stopped_controller_is_not_told_and_the_others_go_on(lab: Lab) -> None:
    components = lab.cluster.roles["controllers"].components
    components["serviceaccount"].stop()
    lab.settle()
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    lab.create("namespaces", namespace, "")
    assert lab.names("serviceaccounts", "n") == []
    assert meta.name_of(lab.get("configmaps", "kube-root-ca.crt", "n")) == "kube-root-ca.crt"
    queued = [fields for fields in lab.records("queue") if fields[0] == "serviceaccount"]
    assert all(fields[2] != "n" for fields in queued)
    components["serviceaccount"].start()
    lab.run(1)
    assert lab.names("serviceaccounts", "n") == ["default"]
