"""Every command that people type, in an order in which each finds what it needs.

One row a command: what the table calls it, the words, what must be printed (a regular expression
that is searched in both outputs), what it is given, the first and last kubectl that has it, and its
exit code. `{files}` is a directory with the manifests of FILES and `{ns}` the namespace. Commands
that go on by themselves, or need a second one, are functions in `test_matrix`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.conformance import manifests


@dataclass(frozen=True)
class Row:
    name: str
    words: str
    wanted: str
    given: str = ""
    since: tuple[int, int] = (1, 0)
    code: int = 0
    # tried again until it is as wanted: what a controller or kubelet must do first
    patient: bool = False


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: solo, labels: {app: solo}}
spec:
  containers: [{name: solo, image: nginx}]
"""
FILES = {"web.yaml": manifests.WEB, "web3.yaml": manifests.WEB_THREE, "pod.yaml": POD}

_DONE = "successfully rolled out"

ROWS: tuple[Row, ...] = (
    # what the server is
    Row("version", "version", r"Server Version"),
    Row("api-resources", "api-resources", r"deployments +deploy +apps/v1 +true +Deployment"),
    Row("api-versions", "api-versions", r"(?m)^apps/v1$"),
    Row("cluster-info", "cluster-info", r"control plane.* is running at"),
    Row("get --raw", "get --raw /healthz", r"^ok"),
    Row("get ns", "get ns", r"kube-system +Active"),
    Row("get nodes", "get nodes", r"node-1 +Ready"),
    Row("describe node", "describe node node-1", r"Allocated resources"),
    Row("unknown kind", "get nope", r"doesn't have a resource type \"nope\"", code=1),
    # making pods
    Row("run dry client", "run x --image=nginx --dry-run=client -o yaml", r"kind: Pod"),
    Row("run dry server", "run x --image=nginx --dry-run=server", r"pod/x created \(server dry"),
    Row("run", "run one --image=nginx", r"pod/one created"),
    Row("create -f", "create -f {files}/pod.yaml", r"pod/solo created"),
    Row("create -f again", "create -f {files}/pod.yaml", r"\(AlreadyExists\)", code=1),
    Row("create deploy", "create deployment nginx --image=nginx --replicas=3", r"nginx created"),
    Row("create dry", "create deployment x --image=nginx --dry-run=server", r"\(server dry run\)"),
    Row("rollout status", "rollout status deployment/nginx", _DONE),
    Row("wait", "wait --for=condition=Ready pod/one pod/solo {patiently}", r"solo condition met"),
    Row(
        "wait jsonpath",
        "wait --for=jsonpath={{.status.phase}}=Running pod/one {patiently}",
        r"pod/one condition met",
        since=(1, 23),
    ),
    Row("wait create", "wait --for=create pod/one {patiently}", r"one condition", since=(1, 31)),
    # reading
    Row("get pods", "get pods", r"(?m)^one +1/1 +Running +0"),
    Row("get -o wide", "get pods -o wide", r"NOMINATED NODE"),
    Row("get -o yaml", "get pod one -o yaml", r"(?m)^  phase: Running"),
    Row("get -o json", "get pods -o json", r'"kind": "List"'),
    Row("get jsonpath", "get pods -o jsonpath={{.items[*].metadata.name}}", r"one solo"),
    Row("get -o name", "get pods -o name", r"(?m)^pod/solo$"),
    Row("get labels", "get pods --show-labels", r"app=solo"),
    Row("get sorted", "get pods --sort-by=.metadata.name", r"(?s)one.*solo"),
    Row("get -A", "get pods -A", r"(?m)^{ns} +one"),
    Row("get selected", "get pods -l app=nginx --field-selector=status.phase=Running", r"nginx-"),
    Row("get one gone", "get pod nope", r'\(NotFound\): pods "nope" not found', code=1),
    Row("get -f", "get -f {files}/pod.yaml", r"solo"),
    Row("get two kinds", "get deploy,rs", r"(?s)deployment.apps/nginx.*replicaset.apps/nginx-"),
    Row("get all", "get all", r"(?s)pod/one.*deployment.apps/nginx.*replicaset.apps/nginx-"),
    Row("get in chunks", "get pods --chunk-size=2", r"solo"),
    Row("describe pod", "describe pod one", r"(?m)^  Normal +Started"),
    Row("describe deploy", "describe deployment nginx", r"ScalingReplicaSet"),
    Row("get events", "get events", r"Scheduled"),
    Row("events", "events", r"Scheduled", since=(1, 26)),
    Row("events --for", "events --for pod/one", r"Pod/one", since=(1, 26)),
    # the small creates
    Row("create cm", "create configmap cm1 --from-literal=a=b", r"configmap/cm1 created"),
    Row("create secret", "create secret generic s1 --from-literal=a=b", r"secret/s1 created"),
    Row("create sa", "create serviceaccount sa1", r"serviceaccount/sa1 created"),
    Row("create token", "create token sa1", r"^ey[\w-]+\.ey[\w-]+\.", since=(1, 24)),
    Row("create svc", "create service clusterip s --tcp=80:80", r"service/s created"),
    Row("create job", "create job j --image=busybox", r"job.batch/j created"),
    Row(
        "create cronjob",
        "create cronjob c --image=busybox --schedule=@daily",
        r"c created",
        since=(1, 21),
    ),
    Row(
        "create job from",
        "create job from-c --from=cronjob/c",
        r"job.batch/from-c created",
        since=(1, 21),
    ),
    Row("delete job", "delete job from-c", r'job.batch "from-c" deleted', since=(1, 21)),
    Row("get cronjobs", "get cronjobs", r"(?m)^c +@daily +<none> +False +0 +<none>", since=(1, 21)),
    Row("create role", "create role r --verb=get --resource=pods", r"/r created"),
    Row(
        "create rolebinding",
        "create rolebinding rb --role=r --serviceaccount={ns}:sa1",
        r"/rb created",
    ),
    Row("create quota", "create quota q --hard=pods=50", r"resourcequota/q created"),
    Row("create ingress", "create ingress i --rule=a.b/c=s:80", r"/i created"),
    Row(
        "create pdb",
        "create pdb p --selector=app=x --min-available=1",
        r"/p created",
        since=(1, 21),
    ),
    # changing
    Row("apply new", "apply -f {files}/web.yaml", r"deployment.apps/web created"),
    Row("apply same", "apply -f {files}/web.yaml", r"deployment.apps/web unchanged"),
    Row("diff", "diff -f {files}/web3.yaml", r"\+ +replicas: 3", code=1),
    Row("apply dry server", "apply -f {files}/web3.yaml --dry-run=server", r"\(server dry run\)"),
    Row("apply dry client", "apply -f {files}/web3.yaml --dry-run=client", r"\(dry run\)"),
    Row("apply changed", "apply -f {files}/web3.yaml", r"deployment.apps/web configured"),
    Row(
        "apply server",
        "apply --server-side --force-conflicts -f {files}/web.yaml",
        r"web serverside-applied",
    ),
    Row("apply ignore", "apply -f {files}/web.yaml --validate=false", r"deployment.apps/web"),
    Row("replace", "replace -f {files}/web3.yaml", r"deployment.apps/web replaced"),
    Row("replace --force", "replace --force -f {files}/pod.yaml", r"pod/solo replaced"),
    Row("scale", "scale deployment nginx --replicas=2", r"nginx scaled"),
    Row("scale if", "scale deployment nginx --current-replicas=2 --replicas=3", r"nginx scaled"),
    Row("set image", "set image deployment/nginx nginx=nginx:1.25", r"image updated"),
    Row(
        "history one", "rollout history deployment/nginx --revision=2", r"nginx:1.25", patient=True
    ),
    Row("set env", "set env deployment/nginx A=b", r"env updated"),
    Row("rollout after", "rollout status deployment/nginx", _DONE),
    Row("history", "rollout history deployment/nginx", r"(?m)^3 +"),
    Row("rollout undo", "rollout undo deployment/nginx", r"rolled back"),
    Row("rollout restart", "rollout restart deployment/nginx", r"restarted"),
    Row("rollout pause", "rollout pause deployment/nginx", r"paused"),
    Row("rollout resume", "rollout resume deployment/nginx", r"resumed"),
    Row("edit", "edit deployment nginx", r"nginx edited"),
    Row("patch", 'patch cm cm1 -p {{"data":{{"b":"c"}}}}', r"cm1 patched"),
    Row("patch merge", 'patch cm cm1 --type=merge -p {{"data":{{"b":null}}}}', r"patched"),
    Row(
        "patch json",
        'patch cm cm1 --type=json -p [{{"op":"add","path":"/data/z","value":"1"}}]',
        r"patched",
    ),
    Row(
        "patch scale",
        'patch deploy nginx --subresource=scale --type=merge -p {{"spec":{{"replicas":2}}}}',
        r"patched",
        since=(1, 24),
    ),
    Row("label", "label pod one tier=fe", r"pod/one labeled"),
    # of what stays: a pod of the rollout may go between the list and its label
    Row("label all", "label cm --all x=y --overwrite", r"configmap/cm1 labeled"),
    Row("annotate", "annotate pod one note=hi", r"pod/one annotate"),
    Row("label off", "label pod one tier-", r"pod/one"),
    Row("expose deploy", "expose deployment nginx --port=80", r"service/nginx exposed"),
    Row("expose pod", "expose pod one --port=80 --name=one --selector=x=y", r"service/one exposed"),
    Row("autoscale", "autoscale deployment nginx --min=1 --max=3", r"nginx autoscaled"),
    Row("get hpa", "get hpa", r"Deployment/nginx"),
    # asking
    Row("explain", "explain deployment.spec", r"revisionHistoryLimit"),
    Row("explain pod", "explain pod", r"ephemeral|spec"),
    Row("can-i", "auth can-i create pods", r"^yes"),
    Row("can-i --list", "auth can-i --list", r"\*\.\*"),
    Row("can-i as", "auth can-i get pods --as=bob --as-group=g1", r"^no", code=1),
    Row("whoami", "auth whoami", r"kubernetes-admin", since=(1, 28)),
    Row("top node", "top node", r"(?m)^node-1 +\d+m", patient=True),
    Row("top pod", "top pod", r"(?m)^one +\d+m", patient=True),
    # nodes
    Row("cordon", "cordon node-2", r"node-2 cordoned"),
    Row("uncordon", "uncordon node-2", r"node-2 uncordoned"),
    Row("taint", "taint nodes node-2 k=v:NoSchedule", r"node-2 tainted"),
    Row("untaint", "taint nodes node-2 k=v:NoSchedule-", r"node-2 untainted"),
    Row(
        "drain",
        "drain node-3 --ignore-daemonsets --force --delete-emptydir-data {patiently}",
        r"node-3 (drained|evicted)",
        since=(1, 21),
    ),
    Row("undrain", "uncordon node-3", r"node-3"),
    # containers
    Row("run two", "run two --image=nginx", r"pod/two created"),
    Row("wait two", "wait --for=condition=Ready pod/two {patiently}", r"two condition met"),
    Row("logs", "logs two", r"start"),
    Row("logs options", "logs --tail=1 --timestamps --since=1h two -c two", r"^20\d\d-"),
    Row("logs deploy", "logs deploy/nginx", r"start"),
    Row("logs -l", "logs -l run=two --prefix", r"\[pod/two/two\]"),
    Row("logs -p none", "logs -p two", r"previous terminated container \"two\" in pod", code=1),
    Row("exec", "exec two -- ls /", r"(?m)^etc$"),
    Row("exec -i", "exec -i two -- cat", r"^hello$", given="hello\n"),
    Row("exec fails", "exec two -- sh -c {exit7}", r"exit code 7", code=7),
    Row("exec deploy", "exec deploy/nginx -- date", r"20\d\d"),
    Row("exec no such", "exec two -- nope", r"executable file not found in \$PATH", code=1),
    Row("attach -i --rm", "run t --image=busybox -i --rm --restart=Never -- echo hi", r"(?m)^hi"),
    Row("cp down", "cp two:/etc/hostname {files}/hostname", r""),
    Row("cp up", "cp {files}/pod.yaml two:/tmp/pod.yaml", r""),
    Row("cp is there", "exec two -- head -n 1 /tmp/pod.yaml", r"apiVersion: v1"),
    Row("debug copy", "debug two --image=busybox --copy-to=two-dbg", r"", since=(1, 25)),
    Row(
        "debug node", "debug node/node-1 --image=busybox", r"Creating debugging pod", since=(1, 25)
    ),
    # and away
    Row("run three", "run three --image=nginx", r"pod/three created"),
    Row("run four", "run four --image=nginx", r"pod/four created"),
    Row("delete dry", "delete pod three --dry-run=server", r"deleted \(server dry run\)"),
    Row("delete", "delete pod three", r'pod "three" deleted'),
    Row("delete now", "delete pod four --now", r'pod "four" deleted'),
    Row("delete --force", "delete pod two --grace-period=0 --force", r'pod "two" force deleted'),
    Row("delete gone", "delete pod nope", r"\(NotFound\)", code=1),
    Row("delete ignored", "delete pod nope --ignore-not-found", r"^$"),
    Row("delete foreground", "delete -f {files}/web.yaml --cascade=foreground", r"deleted"),
    Row("delete orphan", "delete deploy nginx --cascade=orphan", r"deleted"),
    Row("orphans stay", "get rs", r"nginx-"),
    Row("delete -l", "delete rs,pods -l app=nginx --wait=false", r"deleted"),
    Row("delete --all", "delete pods --all --wait=false", r"|"),
    Row("get gone", "get deploy", r"No resources found"),
)
