"""Garbage in etcd: that object cannot be read, and the cluster starts and goes on without it."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.etcd import put
from apiserver_app.etcd.backend import MemoryBackend
from lifecycle import catalog
from lifecycle.hosting.scripted import Session, default_inputs
from tests.apiserver_app.cluster import configmap

KEYS = (
    "clusterroles/cluster-admin", "clusterrolebindings/cluster-admin", "namespaces/default",
    "namespaces/kube-system", "priorityclasses/system-node-critical", "minions/node-1",
    "services/specs/default/kubernetes", "services/endpoints/default/kubernetes",
    "roles/kube-system/extension-apiserver-authentication-reader", "flowschemas/catch-all",
    "prioritylevelconfigurations/catch-all", "serviceaccounts/default/default",
    "leases/kube-system/kube-scheduler", "ranges/servicenodeports", "masterleases/192.168.0.11",
)  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_a_cluster_starts_again_with_garbage_at_a_key_of_its_own(key: str) -> None:
    bugs: list[Any] = []
    inputs = default_inputs(nodes=1, options={"kubelet": {"images": catalog.images()}})
    session = Session(
        inputs, MemoryBackend(), lambda kind, what: bugs.append(what) if kind == "bug" else None
    )
    etcd = session.cluster.etcd
    with etcd.work("put") as work:
        put.put(etcd, put.Request(f"/registry/{key}", b"garbage"), work.span)
    session.wait(15)
    session.restart()
    session.wait(15)
    assert bugs == []
    assert session.cluster.ready
    path = "/api/v1/namespaces/kube-public/configmaps"
    assert session.request("POST", path, configmap("new")).status == 201
