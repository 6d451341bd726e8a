"""--authentication-config and --authorization-config, changed while the server runs."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from apiserver_app import flags
from apiserver_app.auth import issuer
from apiserver_app.handlers.server import reloading
from apiserver_app.handlers.server.reloading import AUTHENTICATION, AUTHORIZATION
from apiserver_app.machinery import kernel
from apiserver_app.machinery.releases import Release
from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.auth.test_authentication_config import PERSON
from tests.apiserver_app.cluster import PODS, server_session

SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
MODES = """
apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- {type: Node, name: node}
- {type: RBAC, name: rbac}
"""
LAX = MODES + "- {type: AlwaysAllow, name: alwaysallow}\n"
ISSUERS = f"""
apiVersion: apiserver.config.k8s.io/v1beta1
kind: AuthenticationConfiguration
jwt:
- issuer: {{url: "{issuer.URL}", audiences: [kubernetes]}}
  claimMappings: {{username: {{claim: sub, prefix: "one:"}}}}
"""


def session() -> Session:
    files = {"modes.yaml": MODES, "issuers.yaml": ISSUERS}
    given = flags.parse(
        [f"{AUTHORIZATION}=modes.yaml", f"{AUTHENTICATION}=issuers.yaml"], files.__getitem__
    )
    return server_session(flags=given)


@functools.cache
def shared() -> Session:
    return session()


def change(run: Session, name: str, text: str) -> None:
    kind = flags.ConfigText if name == AUTHORIZATION else flags.FileText
    run.cluster.reloads.changed(name, kind(text))
    run.settle()


def told(run: Session, name: str) -> tuple[str, dict[str, Any]]:
    """The state the server told of last, and more of it."""
    found = [record for record in run.records() if record.get("name") == f"apiserver/{name}"][-1]
    return found["state"], found["detail"]


def who(run: Session) -> Answer:
    now = run.cluster.kernel.now // kernel.SECOND
    token = issuer.Issuer(run.inputs.service_account_key).id_token(PERSON, now - 60, now + 3600)
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    sent = {"authorization": f"Bearer {token}"}
    return run.request("POST", SELF, review, user="", headers=sent)


def counted(run: Session, what: str) -> list[str]:
    text = run.request("GET", "/metrics").text.decode()
    prefix = f"apiserver_{what}_config_controller_automatic_reload"
    return [line for line in text.splitlines() if line.startswith(prefix)]


def test_other_authorizers_decide_once_the_file_names_them() -> None:
    run = session()
    assert run.request("GET", PODS, user="nobody").status == 403
    change(run, AUTHORIZATION, LAX)
    assert run.request("GET", PODS, user="nobody").status == 200
    state, detail = told(run, AUTHORIZATION)
    assert (state, detail["message"]) == ("synced", "reloaded authz config")
    assert detail["authorizers"] == ["Node", "RBAC", "AlwaysAllow"]
    change(run, AUTHORIZATION, MODES)
    assert run.request("GET", PODS, user="nobody").status == 403


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (MODES.replace("- {type: RBAC, name: rbac}\n", ""), "missing required types: [RBAC]"),
        (
            LAX + "- {type: ABAC, name: abac}\n",
            "authorizer type ABAC is not allowed if it was not enabled at initial server startup",
        ),
        (
            MODES.replace("name: rbac", "name: mine"),
            "expected name rbac for authorizer RBAC instead of mine",
        ),
    ],
)
def test_authorizers_that_cannot_be_leave_those_there_were(text: str, why: str) -> None:
    run = shared()
    change(run, AUTHORIZATION, text)
    assert told(run, AUTHORIZATION) == (
        "failed",
        {"message": "reloading authorization config", "why": why},
    )
    assert run.request("GET", PODS, user="viewer").status == 200
    assert run.request("GET", PODS, user="nobody").status == 403


def test_the_same_configuration_in_other_words_is_no_reload() -> None:
    run = session()
    change(run, AUTHORIZATION, f"# a comment\n{MODES}")
    assert counted(run, "authorization") == []


def test_issuers_count_once_they_were_reached() -> None:
    run = session()
    run.wait(15)
    assert who(run).json()["status"]["userInfo"]["username"].startswith("one:")
    change(run, AUTHENTICATION, ISSUERS.replace("one:", "two:"))
    run.wait(5)
    assert who(run).json()["status"]["userInfo"]["username"].startswith("one:")
    run.wait(16)  # the issuer was reached, and what was found out of the token is forgotten
    assert who(run).json()["status"]["userInfo"]["username"].startswith("two:")
    assert told(run, AUTHENTICATION) == (
        "synced",
        {"message": "reloaded authentication config", "issuers": [issuer.URL]},
    )
    assert [line.split()[-1] for line in counted(run, "authentication")][-1] == "1"


def test_an_issuer_nobody_reaches_leaves_the_old_ones_and_is_tried_again() -> None:
    run = session()
    run.wait(15)
    change(run, AUTHENTICATION, ISSUERS.replace(issuer.URL, "https://gone.example"))
    run.wait(61)
    assert told(run, AUTHENTICATION) == (
        "failed",
        {
            "message": "failed to update authentication config",
            "why": '[oidc: authenticator for issuer "https://gone.example" is not initialized, '
            "context deadline exceeded]",
        },
    )
    assert who(run).status == 201
    run.wait(121)
    assert [line.split()[-1] for line in counted(run, "authentication")][-1] == "2"
    change(run, AUTHENTICATION, ISSUERS.replace("one:", "three:"))
    run.wait(121)
    assert who(run).json()["status"]["userInfo"]["username"].startswith("three:")


@pytest.mark.parametrize(
    ("text", "message", "why"),
    [
        ("", "failed to load authentication config", "empty config data"),
        (ISSUERS.replace("https", "http"), "failed to validate authentication config",
         f'jwt[0].issuer.url: Invalid value: "{issuer.URL.replace("https", "http")}": '
         "URL scheme must be https"),
        (f"{ISSUERS}anonymous: {{enabled: false}}\n", "failed to validate authentication config",
         "anonymous: Forbidden: changed from initial configuration file"),
    ],
)  # fmt: skip
def test_impossible_issuers_are_reported_in_upstreams_words(
    text: str, message: str, why: str
) -> None:
    run = shared()
    change(run, AUTHENTICATION, text)
    assert told(run, AUTHENTICATION) == ("failed", {"message": message, "why": why})


def test_reloads_are_counted_with_the_servers_identity() -> None:
    run = session()
    change(run, AUTHORIZATION, "nonsense")
    stamp, total = counted(run, "authorization")
    assert 'status="failure"' in total and 'apiserver_id_hash="sha256:' in total
    assert total.endswith(" 1")
    assert int(stamp.split()[-1]) == run.cluster.kernel.now // kernel.SECOND


def test_files_are_read_at_start_only_before_1_30() -> None:
    given = shared().inputs.flags
    assert list(reloading.watched(given, Release(30))) == [AUTHENTICATION, AUTHORIZATION]
    assert reloading.watched(given, Release(29)) == {}
