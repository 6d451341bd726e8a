"""The difference of two specs, as reports of real clusters show it.

The first two are laid out as reports of clusters of 1.31 and 1.22 are, but for names.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery.releases import Release
from apiserver_app.registry.validation import godiff

TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"
SOURCES = [
    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    {"downwardAPI": {"items": [
        {"path": "namespace",
         "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
]  # fmt: skip
VOLUMES = [{"name": "api", "projected": {"sources": SOURCES, "defaultMode": 420}}]
SHOWN = (
    '{{Name: "api", VolumeSource: {Projected: &{Sources: {{ServiceAccountToken: '
    '&{ExpirationSeconds: 3607, Path: "token"}}, {ConfigMap: &{LocalObjectReference: '
    '{Name: "kube-root-ca.crt"}, Items: {{Key: "ca.crt", Path: "ca.crt"}}}}, {DownwardAPI: '
    '&{Items: {{Path: "namespace", FieldRef: &{APIVersion: "v1", FieldPath: '
    '"metadata.namespace"}}}}}}, DefaultMode: &420}}}}'
)


def container(**fields: object) -> dict[str, Any]:
    mounts = [{"name": "api", "readOnly": True, "mountPath": TOKEN}]
    return {
        "name": "web",
        "image": "nginx",
        "resources": {},
        "volumeMounts": mounts,
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "Always",
        **fields,
    }


def spec(**fields: object) -> dict[str, Any]:
    return {
        "volumes": VOLUMES,
        "containers": [container()],
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        **fields,
    }


def report(old: object, new: object, version: str = "1.33") -> list[str]:
    return godiff.of(old, new, "core.PodSpec", Release.parse(version)).splitlines()


def test_a_word_of_a_command_is_shown_among_its_neighbours() -> None:
    command = ["sh", "-c", "echo The app is running! && sleep 3600"]
    old = spec(
        containers=[container(command=command)],
        initContainers=[container(command=["sh", "-c", "sleeeep 2;"])],
    )
    new = {**old, "initContainers": [container(command=["sh", "-c", "sleep 2"])]}

    assert report(old, new, "1.31") == [
        "  core.PodSpec{",
        f"  \tVolumes: {SHOWN},",
        "  \tInitContainers: []core.Container{",
        "  \t\t{",
        '  \t\t\tName:  "web",',
        '  \t\t\tImage: "nginx",',
        "  \t\t\tCommand: []string{",
        '  \t\t\t\t"sh",',
        '  \t\t\t\t"-c",',
        '- \t\t\t\t"sleeeep 2;",',
        '+ \t\t\t\t"sleep 2",',
        "  \t\t\t},",
        "  \t\t\tArgs:       nil,",
        '  \t\t\tWorkingDir: "",',
        "  \t\t\t... // 19 identical fields",
        "  \t\t},",
        "  \t},",
        '  \tContainers:          {{Name: "web", Image: "nginx", Command: {"sh", "-c", '
        '"echo The app is running! && sleep 3600"}, VolumeMounts: {{Name: "api", '
        f'ReadOnly: true, MountPath: "{TOKEN}"}}}}, ...}}}},',
        "  \tEphemeralContainers: nil,",
        "  \t... // 29 identical fields",
        "  }",
    ]


def test_fields_that_appear_are_shown_beside_the_nothing_they_were() -> None:
    old = spec(nodeSelector={"kubernetes.io/hostname": "a"})
    del old["volumes"]
    secret = {"secretName": "default-token-with-a-name-of-some-length"}
    new = {
        **old,
        "volumes": [{"name": "default-token", "secret": secret}],
        "nodeName": "a",
        "serviceAccountName": "default",
        "imagePullSecrets": [{"name": "hub"}],
    }

    shown = report(old, new, "1.22")

    assert shown[1:8] == [
        "- \tVolumes: nil,",
        "+ \tVolumes: []core.Volume{",
        "+ \t\t{",
        '+ \t\t\tName:         "default-token",',
        "+ \t\t\tVolumeSource: core.VolumeSource{Secret: &core.SecretVolumeSource{...}},",
        "+ \t\t},",
        "+ \t},",
    ]
    assert shown[10:] == [
        "  \t... // 4 identical fields",
        '  \tDNSPolicy:                    "ClusterFirst",',
        '  \tNodeSelector:                 {"kubernetes.io/hostname": "a"},',
        '- \tServiceAccountName:           "",',
        '+ \tServiceAccountName:           "default",',
        "  \tAutomountServiceAccountToken: nil,",
        '- \tNodeName:                     "",',
        '+ \tNodeName:                     "a",',
        "  \tSecurityContext:              &{},",
        "- \tImagePullSecrets:             nil,",
        '+ \tImagePullSecrets:             []core.LocalObjectReference{{Name: "hub"}},',
        '  \tHostname:                     "",',
        '  \tSubdomain:                    "",',
        "  \t... // 14 identical fields",
        "  }",
    ]


def test_the_host_of_a_pod_is_part_of_its_security_context() -> None:
    shown = report(spec(), spec(hostNetwork=True))

    at = shown.index("  \tSecurityContext: &core.PodSecurityContext{")
    assert shown[at + 1 : at + 3] == ["- \t\tHostNetwork: false,", "+ \t\tHostNetwork: true,"]


def test_values_of_every_kind_can_be_told_apart() -> None:
    probe = {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 10}
    amounts = {"requests": {"cpu": "500m"}}
    old = spec(containers=[container(), container(name="b")])
    changed = container(livenessProbe=probe, resources=amounts)
    tolerated = {"key": "a", "operator": "Exists", "tolerationSeconds": 3}
    new = spec(containers=[changed], tolerations=[tolerated])

    text = "\n".join(report(old, new))

    assert 'core.ResourceRequirements{Requests: core.ResourceList{s"cpu": {...}}}' in text
    assert "Tolerations: " in text
    assert godiff.of(None, {"path": "/a"}, "core.HostPathVolumeSource", Release(33))
