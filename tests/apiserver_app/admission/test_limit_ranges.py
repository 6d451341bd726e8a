"""LimitRanges: what they fill in, and the bounds of containers, pods and claims."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery import errors
from tests.apiserver_app.admission.conftest import Cluster, pod, with_resources


def _refusal(cluster: Cluster, resource: str, obj: Any, **more: Any) -> errors.ApiError:
    with pytest.raises(errors.ApiError) as caught:
        cluster.send(resource, obj, **more)
    return caught.value


def _limits(cluster: Cluster, **limit: Any) -> None:
    spec = {"limits": [{"type": "Container", **limit}]}
    metadata = {"name": "bounds", "namespace": "default"}
    cluster.reader.put("limitranges", {"metadata": metadata, "spec": spec})


def test_limit_range_fills_in_what_containers_leave_out(cluster: Cluster) -> None:
    _limits(cluster, default={"cpu": "500m", "memory": "1Gi"}, defaultRequest={"cpu": "100m"})

    made = cluster.send("pods", with_resources(limits={"memory": "64Mi"}))

    assert made["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "500m", "memory": "64Mi"},
        "requests": {"cpu": "100m"},
    }
    assert made["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container nginx; "
        "cpu limit for container nginx"
    }
    assert cluster.said("LimitRanger").verdict == "change"


@pytest.mark.parametrize(
    ("limit", "resources", "said"),
    [
        (
            {"min": {"cpu": "100m"}},
            {"requests": {"cpu": "50m"}},
            "minimum cpu usage per Container is 100m, but request is 50m",
        ),
        (
            {"max": {"memory": "1Gi"}},
            {"limits": {"memory": "2Gi"}},
            "maximum memory usage per Container is 1Gi, but limit is 2Gi",
        ),
        ({"max": {"cpu": "1"}}, {}, "maximum cpu usage per Container is 1.  No limit is specified"),
        (
            {"min": {"cpu": "1", "memory": "1Gi"}},
            {"requests": {"cpu": "500m", "memory": "1Mi"}},
            "[minimum cpu usage per Container is 1, but request is 500m, "
            "minimum memory usage per Container is 1Gi, but request is 1Mi]",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "100m"}, "limits": {"cpu": "500m"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 5.000000",
        ),
    ],
)
def test_container_out_of_bounds_is_refused(
    cluster: Cluster, limit: dict[str, Any], resources: dict[str, Any], said: str
) -> None:
    _limits(cluster, **limit)

    assert _refusal(cluster, "pods", with_resources(**resources)).message == (
        f'pods "nginx" is forbidden: {said}'
    )


def test_claim_out_of_bounds_is_refused(cluster: Cluster) -> None:
    spec = {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}]}
    metadata = {"name": "bounds", "namespace": "default"}
    cluster.reader.put("limitranges", {"metadata": metadata, "spec": spec})
    claim = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "2Gi"}}}}

    assert _refusal(cluster, "persistentvolumeclaims", claim).message == (
        'persistentvolumeclaims "data" is forbidden: maximum storage usage per '
        "PersistentVolumeClaim is 1Gi, but request is 2Gi"
    )


@pytest.mark.parametrize(
    "limit",
    [{"min": {"cpu": "100m"}}, {"max": {"cpu": "200m"}}, {"maxLimitRequestRatio": {"cpu": "2"}}],
)
def test_a_bound_itself_is_within_bounds(cluster: Cluster, limit: dict[str, Any]) -> None:
    _limits(cluster, **limit)
    cluster.send("pods", with_resources(requests={"cpu": "100m"}, limits={"cpu": "200m"}))
    assert cluster.said("LimitRanger").verdict == "allow"


@pytest.mark.parametrize(
    ("limit", "resources", "said"),
    [
        ({"max": {"cpu": "1"}}, {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}},
         "maximum cpu usage per Container is 1, but request is 2"),
        ({"min": {"cpu": "1"}}, {"limits": {"cpu": "500m"}, "requests": {"cpu": "1"}},
         "minimum cpu usage per Container is 1, but limit is 500m"),
    ],
)  # fmt: skip
def test_bounds_hold_for_requests_and_for_limits(
    cluster: Cluster, limit: dict[str, Any], resources: dict[str, Any], said: str
) -> None:
    _limits(cluster, **limit)
    assert _refusal(cluster, "pods", with_resources(**resources)).message.endswith(
        f"is forbidden: {said}"
    )


def test_a_pod_is_bound_by_the_sum_of_its_containers(cluster: Cluster) -> None:
    _limits(cluster, type="Pod", max={"cpu": "1"})
    one = {"image": "nginx", "resources": {"limits": {"cpu": "600m"}}}
    cluster.send("pods", pod(containers=[{"name": "a", **one}]))
    both = pod(containers=[{"name": "a", **one}, {"name": "b", **one}])
    assert _refusal(cluster, "pods", both).message.endswith(
        "is forbidden: maximum cpu usage per Pod is 1, but limit is 1200m"
    )
