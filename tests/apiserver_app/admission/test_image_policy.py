"""ImagePolicyWebhook: a server that says which images may run."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
import yaml

from apiserver_app.admission import config
from apiserver_app.admission.plugin import Given
from apiserver_app.admission.plugins.podsecurity.image_policy import ImagePolicyWebhook
from apiserver_app.egress.carriers import Arrived, Dial, Done, Opened
from apiserver_app.egress.outbound import Answer, Call, CallFailed
from apiserver_app.machinery.meta import Object
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import PODS, pod, server_session

KUBECONFIG = yaml.safe_dump(
    {
        "clusters": [{"name": "it", "cluster": {"server": "https://127.0.0.1:8443/policy"}}],
        "users": [{"name": "me", "user": {"token": "secret"}}],
        "contexts": [{"name": "go", "context": {"cluster": "it", "user": "me"}}],
        "current-context": "go",
    }
)


def given(**fields: Any) -> Given:
    wanted = {"imagePolicy": {"kubeConfigFile": "hook.kubeconfig", **fields}}
    files = {"hook.kubeconfig": KUBECONFIG}
    return Given(config=config.Configuration({"ImagePolicyWebhook": wanted}, files))


class Server:
    """The host's network, with one server on it that allows all images but those of `bad`."""

    def __init__(self) -> None:
        self.asked: list[Object] = []
        self.headers: dict[str, str] = {}
        self.away = False

    def ask(self, call: Call, dial: Dial, done: Done) -> None:
        if self.away:
            done(CallFailed("dial tcp 127.0.0.1:8443: connect: connection refused"))
            return
        review = orjson.loads(call.body)
        self.asked.append(review)
        self.headers = dict(call.headers)
        images = [container["image"] for container in review["spec"]["containers"]]
        status: Object = {"allowed": "bad" not in images}
        if not status["allowed"]:
            status["reason"] = "bad is bad"
        done(Answer(200, {}, orjson.dumps({**review, "status": status}), "127.0.0.1:8443"))

    def open(self, call: Call, dial: Dial, opened: Opened, arrived: Arrived) -> None:
        opened(CallFailed("nothing is streamed"))


def policed(**fields: Any) -> tuple[Session, Server]:
    session = server_session()
    server = Server()
    session.cluster.outbound.network = server
    chain = session.cluster.context.admission.chain
    chain.plugins = (*chain.plugins, ImagePolicyWebhook.make(given(**fields)))
    chain.plans.clear()
    return session, server


def running(name: str, image: str) -> Object:
    return pod(name, containers=[{"name": "main", "image": image}])


def test_images_are_allowed_and_refused_by_the_server_and_its_word_is_kept() -> None:
    session, server = policed()
    assert session.request("POST", PODS, running("a", "good")).status == 201
    refused = session.request("POST", PODS, running("b", "bad"))
    assert refused.status == 403
    assert refused.json()["message"] == (
        'pods "b" is forbidden: image policy webhook backend denied one or more images: bad is bad'
    )
    review = server.asked[0]
    assert (review["kind"], review["apiVersion"]) == ("ImageReview", "imagepolicy.k8s.io/v1alpha1")
    assert review["spec"] == {"containers": [{"image": "good"}], "namespace": "default"}
    assert server.headers["Authorization"] == "Bearer secret"
    assert session.request("POST", PODS, running("c", "good")).status == 201
    assert len(server.asked) == 2
    session.wait(301)
    assert session.request("POST", PODS, running("d", "good")).status == 201
    assert len(server.asked) == 3


@pytest.mark.parametrize("allow", [True, False])
def test_a_server_that_is_away_leaves_it_to_the_default(allow: bool) -> None:
    session, server = policed(defaultAllow=allow)
    server.away = True
    answer = session.request("POST", PODS, running("a", "good"))
    assert answer.status == (201 if allow else 403)
    if not allow:
        assert answer.json()["message"] == (
            'pods "a" is forbidden: Post "https://127.0.0.1:8443/policy": dial tcp '
            "127.0.0.1:8443: connect: connection refused"
        )


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"allowTTL": 4000}, "valid value is between 1s and 30m0s, got 1h6m40s"),
        ({"kubeConfigFile": "other"}, "invalid configuration: no configuration has been provided"),
    ],
)
def test_a_configuration_that_cannot_be_ends_the_start(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(config.ConfigurationError) as caught:
        ImagePolicyWebhook.make(given(**fields))
    assert str(caught.value) == f'couldn\'t init admission plugin "ImagePolicyWebhook": {why}'
