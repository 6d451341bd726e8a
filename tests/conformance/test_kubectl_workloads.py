"""Deployments and pods as a class drives them with kubectl, from create to delete."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator

import pytest

from tests.conformance import manifests
from tests.conformance.kubectl import PATIENTLY, Kubectl, since
from tests.conformance.prints import fits, has
from tests.lifecycle.hosting.running import WAIT_SECONDS


@pytest.fixture(scope="module")
def kubectl(kubectl: Kubectl) -> Iterator[Kubectl]:
    with kubectl.space("workloads") as within:
        yield within


@pytest.fixture(scope="module")
def nginx(kubectl: Kubectl) -> str:
    """A deployment of three pods that are ready."""
    said = kubectl("create", "deployment", "nginx", "--image=nginx", "--replicas=3")
    assert said == "deployment.apps/nginx created\n"
    kubectl("rollout", "status", "deployment/nginx")
    return "nginx"


def test_rollout_status_waits_to_the_end(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "slow", "--image=nginx", "--replicas=3")
    said = kubectl("rollout", "status", "deployment/slow").splitlines()
    assert said[-1] == 'deployment "slow" successfully rolled out'
    while said[0] == "Waiting for deployment spec update to be observed...":  # it was that quick
        del said[0]
    for line in said[:-1]:
        assert line.startswith('Waiting for deployment "slow" rollout to finish: ')
    assert kubectl("delete", "deploy", "slow") == 'deployment.apps "slow" deleted\n'
    kubectl.until_nothing("get", "pods", "-l", "app=slow")


def test_get_pods_wide(kubectl: Kubectl, nginx: str) -> None:
    fits(
        kubectl("get", "pods", "-o", "wide", "-l", "app=nginx"),
        """
NAME  READY  STATUS  RESTARTS  AGE  IP  NODE  NOMINATED NODE  READINESS GATES
nginx-5869d7778c-{id}  1/1  Running  0  {age}  {ip}  node-{n}  <none>  <none>
nginx-5869d7778c-{id}  1/1  Running  0  {age}  {ip}  node-{n}  <none>  <none>
nginx-5869d7778c-{id}  1/1  Running  0  {age}  {ip}  node-{n}  <none>  <none>
""",
    )


def test_the_replica_set_has_the_name_of_a_real_cluster(kubectl: Kubectl, nginx: str) -> None:
    assert kubectl("get", "rs", "-o", "name") == "replicaset.apps/nginx-5869d7778c\n"


def test_get_all(kubectl: Kubectl, nginx: str) -> None:
    fits(
        kubectl("get", "all"),
        """
NAME                         READY   STATUS    RESTARTS   AGE
pod/nginx-5869d7778c-{id}   1/1     Running   0          {age}
pod/nginx-5869d7778c-{id}   1/1     Running   0          {age}
pod/nginx-5869d7778c-{id}   1/1     Running   0          {age}

NAME                    READY   UP-TO-DATE   AVAILABLE   AGE
deployment.apps/nginx   3/3     3            3           {age}

NAME                               DESIRED   CURRENT   READY   AGE
replicaset.apps/nginx-5869d7778c   3         3         3       {age}
""",
    )


@since(1, 30, "`describe` has another layout")
def test_describe_deployment(kubectl: Kubectl, nginx: str) -> None:
    fits(
        kubectl("describe", "deployment", "nginx"),
        """
Name:                   nginx
Namespace:              workloads
CreationTimestamp:      {time}
Labels:                 app=nginx
Annotations:            deployment.kubernetes.io/revision: 1
Selector:               app=nginx
Replicas:               3 desired | 3 updated | 3 total | 3 available | 0 unavailable
StrategyType:           RollingUpdate
MinReadySeconds:        0
RollingUpdateStrategy:  25% max unavailable, 25% max surge
Pod Template:
  Labels:  app=nginx
  Containers:
   nginx:
    Image:         nginx
    Port:          <none>
    Host Port:     <none>
    Environment:   <none>
    Mounts:        <none>
  Volumes:         <none>
  Node-Selectors:  <none>
  Tolerations:     <none>
Conditions:
  Type           Status  Reason
  ----           ------  ------
  Available      True    MinimumReplicasAvailable
  Progressing    True    NewReplicaSetAvailable
OldReplicaSets:  <none>
NewReplicaSet:   nginx-5869d7778c (3/3 replicas created)
Events:
  Type    Reason             Age   From                   Message
  ----    ------             ----  ----                   -------
  Normal  ScalingReplicaSet  {age}  deployment-controller  Scaled up replica set {*} from 0 to 3
""",
    )


def test_describe_node(kubectl: Kubectl, nginx: str) -> None:
    has(
        kubectl("describe", "node", "node-1"),
        """
Name:               node-1
Roles:              control-plane
Labels:             beta.kubernetes.io/arch=amd64
                    kubernetes.io/hostname=node-1
CreationTimestamp:  {time}
Taints:             <none>
Unschedulable:      false
Lease:
  HolderIdentity:  node-1
  RenewTime:       {time}
Conditions:
  Type             Status  LastHeartbeatTime    LastTransitionTime   Reason                 Message
  MemoryPressure  False  {time}  {time}  KubeletHasSufficientMemory  {*} memory available
  DiskPressure  False  {time}  {time}  KubeletHasNoDiskPressure  kubelet has no disk pressure
  PIDPressure  False  {time}  {time}  KubeletHasSufficientPID  kubelet has sufficient PID available
  Ready  True  {time}  {time}  KubeletReady  kubelet is posting ready status
Addresses:
  InternalIP:  10.0.0.11
  Hostname:    node-1
Capacity:
  pods:               110
PodCIDR:                      10.244.{n}.0/24
Non-terminated Pods:          ({n} in total)
Allocated resources:
  Resource           Requests  Limits
  cpu                {*}
Events:
""",
    )


@since(1, 26, "it has no `events`")
def test_events_tell_the_life_of_a_pod(kubectl: Kubectl, nginx: str) -> None:
    rows = [row[1:] for row in kubectl.run("get", "events").rows()]
    told = {(row[0], row[1], row[2].split("/")[0]) for row in rows}
    assert told - {("Normal", "Killing", "pod")} == {
        ("Normal", "Scheduled", "pod"),
        ("Normal", "Pulling", "pod"),
        ("Normal", "Pulled", "pod"),
        ("Normal", "Created", "pod"),
        ("Normal", "Started", "pod"),
        ("Normal", "SuccessfulCreate", "replicaset"),
        ("Normal", "ScalingReplicaSet", "deployment"),
    }
    has(
        kubectl("events", "--for", "deployment/nginx"),
        """
LAST SEEN   TYPE     REASON              OBJECT             MESSAGE
{age}  Normal  ScalingReplicaSet  Deployment/nginx  Scaled up replica set {*} from 0 to 3
""",
    )


def test_a_watch_gets_each_row_as_it_changes(kubectl: Kubectl, nginx: str) -> None:
    with kubectl.open("get", "pods", "-w") as watch:
        assert _row(watch) == "NAME READY STATUS RESTARTS AGE"
        assert all(_row(watch).startswith("nginx-") for _ in range(3))
        kubectl("run", "seen", "--image=nginx")
        kubectl("wait", "--for=condition=Ready", "pod/seen", PATIENTLY)
        kubectl("delete", "pod", "seen")
        rows = [""]
        while "Terminating" not in rows[-1]:
            rows.append(_row(watch).rsplit(" ", 1)[0])
        watch.terminate()
    assert list(dict.fromkeys(rows[1:])) == [
        "seen 0/1 Pending 0",
        "seen 0/1 ContainerCreating 0",
        "seen 1/1 Running 0",
        "seen 1/1 Terminating 0",
    ]


def test_scale_and_set_image_and_undo(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=nginx")
    kubectl.until(bool, "get", "rs", "-l", "app=web", "-o", "name")  # the first revision
    assert kubectl("scale", "deployment/web", "--replicas=2") == "deployment.apps/web scaled\n"
    said = kubectl.fails("scale", "deployment/web", "--current-replicas=7", "--replicas=3")
    assert said == "error: Expected replicas to be 7, was 2"
    said = kubectl("set", "image", "deployment/web", "nginx=nginx:1.27")
    assert said == "deployment.apps/web image updated\n"
    kubectl("rollout", "status", "deployment/web")
    fits(
        kubectl("rollout", "history", "deployment/web"),
        """
deployment.apps/web
REVISION  CHANGE-CAUSE
1         <none>
2         <none>
""",
    )
    has(
        kubectl("rollout", "history", "deployment/web", "--revision=2"),
        """
deployment.apps/web with revision #2
Pod Template:
    Image:\tnginx:1.27
""",
    )
    assert kubectl("rollout", "undo", "deployment/web") == "deployment.apps/web rolled back\n"
    kubectl("rollout", "status", "deployment/web")
    assert [row[0] for row in kubectl.run("rollout", "history", "deploy/web").rows()[1:3]] == [
        "2",
        "3",
    ]
    said = kubectl.fails("rollout", "undo", "deployment/web", "--to-revision=99")
    assert said == "error: unable to find specified revision 99 in history"
    kubectl("delete", "deployment", "web")


def test_restart_pause_and_resume(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "again", "--image=nginx")
    kubectl("rollout", "status", "deployment/again")
    before = kubectl("get", "rs", "-l", "app=again", "-o", "name")
    assert kubectl("rollout", "pause", "deploy/again") == "deployment.apps/again paused\n"
    assert kubectl.fails("rollout", "pause", "deploy/again") == (
        'error: deployments.apps "again" is already paused'
    )
    assert kubectl.fails("rollout", "restart", "deploy/again") == (
        'error: deployments.apps "again" can\'t restart paused deployment '
        "(run rollout resume first)"
    )
    assert kubectl("rollout", "resume", "deploy/again") == "deployment.apps/again resumed\n"
    assert kubectl("rollout", "restart", "deploy/again") == "deployment.apps/again restarted\n"
    kubectl("rollout", "status", "deployment/again")
    after = kubectl("get", "rs", "-l", "app=again", "-o", "name").split()
    assert len(after) == 2 and before.strip() in after
    kubectl("delete", "deployment", "again")


def test_run_and_force_delete(kubectl: Kubectl) -> None:
    assert kubectl("run", "one", "--image=nginx") == "pod/one created\n"
    said = kubectl("wait", "--for=condition=Ready", "pod/one", PATIENTLY)
    assert said == "pod/one condition met\n"
    said = kubectl("delete", "pod", "one", "--force", "--grace-period=0")
    assert said == 'pod "one" force deleted\n'
    assert kubectl.fails("get", "pod", "one") == (
        'Error from server (NotFound): pods "one" not found'
    )


@pytest.mark.parametrize("policy", ["background", "foreground"])
def test_delete_takes_the_pods_along(kubectl: Kubectl, policy: str) -> None:
    kubectl("create", "deployment", policy, "--image=nginx", "--replicas=2")
    kubectl("rollout", "status", f"deployment/{policy}")
    said = kubectl("delete", "deployment", policy, f"--cascade={policy}")
    assert said == f'deployment.apps "{policy}" deleted\n'
    if policy == "foreground":  # the owner goes last
        assert kubectl("get", "rs,pods", "-l", f"app={policy}") == ""
    kubectl.until_nothing("get", "rs,pods", "-l", f"app={policy}")


def test_delete_orphans_keep_running(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "left", "--image=nginx", "--replicas=2")
    kubectl("rollout", "status", "deployment/left")
    kubectl("delete", "deployment", "left", "--cascade=orphan")
    owned = kubectl.object("rs", "-l", "app=left")["items"]
    assert len(owned) == 1 and "ownerReferences" not in owned[0]["metadata"]
    assert len(kubectl.object("pods", "-l", "app=left")["items"]) == 2
    kubectl("delete", "rs", "-l", "app=left")


def test_a_pod_waits_for_its_claim_and_runs_when_it_can_be_bound(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=manifests.DATABASE)
    unbound = (
        "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: "
        "0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )
    kubectl.until(lambda out: unbound in out, "describe", "pod", "db-0")
    missing = 'storageclass.storage.k8s.io "fast" not found'
    kubectl.until(lambda out: missing in out, "describe", "pvc", "data-db-0")
    kubectl("apply", "-f", "-", given=manifests.STORAGE_CLASS)
    kubectl("wait", "--for=condition=Ready", "pod/db-0", PATIENTLY)
    has(
        kubectl("get", "pvc"),
        """
NAME        STATUS   VOLUME      CAPACITY   ACCESS MODES   STORAGECLASS   VOLUMEATTRIBUTESCLASS
data-db-0   Bound    pvc-{uid}   1Gi        RWO            fast           <unset>
""".replace("CLASS\n", "CLASS   AGE\n").replace("set>\n", "set>   {age}\n"),
    )
    kubectl("delete", "statefulset,pvc", "--all")
    kubectl("delete", "storageclass", "fast")


def test_jobs_complete(kubectl: Kubectl) -> None:
    said = kubectl("create", "job", "sums", "--image=busybox", "--", "true")
    assert said == "job.batch/sums created\n"
    said = kubectl("wait", "--for=condition=complete", "job/sums", PATIENTLY)
    assert said == "job.batch/sums condition met\n"
    has(
        kubectl("get", "jobs"),
        """
NAME   STATUS     COMPLETIONS   DURATION   AGE
sums   Complete   1/1           {age}         {age}
""",
    )
    has(
        kubectl("get", "pods", "-l", "job-name=sums"),
        """
NAME         READY   STATUS      RESTARTS   AGE
sums-{id}   0/1     Completed   0          {age}
""",
    )


def test_an_exposed_deployment_has_endpoints(kubectl: Kubectl, nginx: str) -> None:
    assert kubectl("expose", "deployment", "nginx", "--port=80") == "service/nginx exposed\n"
    kubectl.until(lambda out: out.count(":80") == 3, "get", "endpoints", "nginx")
    said = kubectl.run("get", "endpoints", "nginx")
    assert said.err == (
        "Warning: v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\n"
    )
    fits(
        kubectl("get", "service", "nginx"),
        """
NAME    TYPE        CLUSTER-IP   EXTERNAL-IP   PORT(S)   AGE
nginx   ClusterIP   {ip}         <none>        80/TCP    {age}
""",
    )
    described = ("describe", "service", "nginx")  # of EndpointSlices, another controller's
    has(
        kubectl.until(lambda out: out.count(":80") == 3, *described),
        """
Selector:                 app=nginx
Type:                     ClusterIP
IP Families:              IPv4
Port:                     <unset>  80/TCP
TargetPort:               80/TCP
Endpoints:                {ip}:80,{ip}:80,{ip}:80
Session Affinity:         None
""",
    )


def test_deleted_deployment_leaves_nothing(kubectl: Kubectl, nginx: str) -> None:
    assert kubectl("delete", "deployment", "nginx") == 'deployment.apps "nginx" deleted\n'
    kubectl.until_nothing("get", "rs,pods", "-l", "app=nginx")
    said = kubectl.run("get", "deployments")
    assert said.err == "No resources found in workloads namespace.\n"


def _row(watch: subprocess.Popen[str]) -> str:
    """The next row of a watch; "" at its end. One that says no more is ended."""
    assert watch.stdout is not None
    patience = threading.Timer(WAIT_SECONDS, watch.kill)
    patience.start()
    row = " ".join(watch.stdout.readline().split())
    patience.cancel()
    assert row, "the watch says no more"
    return row
