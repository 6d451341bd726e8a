"""What pods for Windows are refused for, word for word.

The rows are facts of kubernetes pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver_app.registry.kinds import strategies

NO = "Forbidden: cannot be set for a windows pod"
AT = "spec.securityContext.windowsOptions"
USER = f"{AT}.runAsUserName: Invalid value: "


def windows(**options: Any) -> dict[str, Any]:
    return {"securityContext": {"windowsOptions": options}}


def process(whole: bool | None, *own: bool | None, network: bool = True) -> dict[str, Any]:
    containers = []
    for index, value in enumerate(own):
        one: dict[str, Any] = {"name": f"c{index}", "image": "a"}
        if value is not None:
            one["securityContext"] = {"windowsOptions": {"hostProcess": value}}
        containers.append(one)
    spec: dict[str, Any] = {"containers": containers, "hostNetwork": network}
    if whole is not None:
        spec |= windows(hostProcess=whole)
    return spec


ROWS: tuple[tuple[dict[str, Any], list[str]], ...] = (
    (windows(runAsUserName="CORP\\alice", gmsaCredentialSpecName="a", gmsaCredentialSpec="b"), []),
    (
        windows(gmsaCredentialSpec="", runAsUserName=""),
        [f'{AT}.gmsaCredentialSpec: Invalid value: "": '
         "gmsaCredentialSpec cannot be an empty string",
         f'{USER}"": runAsUserName cannot be an empty string'],
    ),
    (
        windows(runAsUserName="a\\b\\c"),
        [f'{USER}"a\\\\b\\\\c": runAsUserName cannot contain more than one backslash'],
    ),
    (
        windows(runAsUserName=".x:\\..."),
        [f"{USER}\".x:\\\\...\": runAsUserName's Domain doesn't match the NetBios nor the DNS "
         "format",
         f"{USER}\".x:\\\\...\": runAsUserName's User cannot contain only periods or spaces"],
    ),
    (
        windows(runAsUserName="u" * 105 + "@"),
        [f"{USER}\"{'u' * 105}@\": runAsUserName's User length must not be longer than 104 "
         "characters",
         f"{USER}\"{'u' * 105}@\": runAsUserName's User cannot contain the following characters: "
         '"/\\:;|=,+*?<>@[]'],
    ),
    (process(True, None, None), []),
    (process(None, True, True), []),
    (
        process(True, False, None),
        ["spec.containers[0].securityContext.windowsOptions.hostProcess: Invalid value: false: "
         "pod hostProcess value must be identical if both are specified, was true",
         'spec: Invalid value: "": If pod contains any hostProcess containers then all '
         "containers must be HostProcess containers"],
    ),
    (
        process(None, True, network=False),
        ["spec.hostNetwork: Invalid value: false: "
         "hostNetwork must be true if pod contains any hostProcess containers"],
    ),
    (
        {"os": {"name": "windows"}, "hostPID": True,
         "securityContext": {"runAsUser": 1, "fsGroup": 2},
         "containers": [{"name": "a", "image": "b", "securityContext": {"privileged": False}}]},
        [f"spec.hostPID: {NO}", f"spec.securityContext.fsGroup: {NO}",
         f"spec.securityContext.runAsUser: {NO}",
         f"spec.containers[0].securityContext.privileged: {NO}"],
    ),
    (
        {"os": {"name": "linux"}, **windows(hostProcess=False)},
        [f"{AT}: Forbidden: windows options cannot be set for a linux pod"],
    ),
)  # fmt: skip


@pytest.mark.parametrize(("spec", "messages"), ROWS)
def test_a_pod_for_windows_is_told_what_is_wrong(spec: dict[str, Any], messages: list[str]) -> None:
    assert strategies.create_errors("pods", strategies.pod(**spec)) == messages


def test_each_events_api_selects_by_its_own_words() -> None:
    core, new = strategies.of("events"), strategies.of("events.events.k8s.io")

    for path in ("involvedObject.name", "source", "reportingComponent"):
        assert core.field_refusal(path) == ""
        assert new.field_refusal(path) == f"field label not supported: {path}"
    for path in ("regarding.name", "reportingController"):
        assert new.field_refusal(path) == ""
        assert core.field_refusal(path) == f"field label not supported: {path}"
