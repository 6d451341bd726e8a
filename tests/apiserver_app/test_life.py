"""The API server is stopped and started: what goes on, what ends, and what comes back."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app import flags
from apiserver_app.auth import bootstrap
from apiserver_app.handlers.server import life as lives
from apiserver_app.registry import masterleases
from lifecycle.hosting.scripted import Answer, Session, default_inputs
from tests.apiserver_app.cluster import CONFIGMAPS, DEPLOYMENTS, configmap, server_session
from tests.sim.test_story import deployment


def states(session: Session, since: int = 1) -> list[str]:
    """What was told of the API server's life."""
    return [
        record["state"]
        for record in session.records()
        if record["kind"] == "component"
        and record["name"] == "apiserver"
        and record["seq"] >= since
    ]


def stop(session: Session) -> dict[str, Any]:
    """Stop it and let it drain; what it told at the end."""
    session.cluster.context.life.stop()
    session.settle()
    found: list[dict[str, Any]] = [
        record["detail"] for record in session.records() if record.get("state") == "stopped"
    ]
    return found[-1]


def test_a_stop_drains_and_then_nobody_gets_through() -> None:
    session = server_session()
    assert session.request("POST", CONFIGMAPS, configmap("a")).status == 201

    stop(session)

    assert states(session)[-2:] == ["stopping", "stopped"]
    refused = session.request("GET", f"{CONFIGMAPS}/a")
    assert (refused.status, refused.json()["message"]) == (503, lives.REFUSED)
    session.cluster.context.life.start()
    assert session.request("GET", f"{CONFIGMAPS}/a").status == 200


def test_readyz_fails_first_and_all_else_goes_on_for_the_delay() -> None:
    session = server_session(flags=flags.Flags(shutdown_delay_duration=20.0))
    life = session.cluster.context.life
    life.stop()
    ready = session.request("GET", "/readyz")
    assert ready.status == 500
    assert "[-]shutdown failed: reason withheld" in ready.text.decode()
    assert session.request("GET", "/livez").status == 200
    assert session.request("POST", CONFIGMAPS, configmap("a")).status == 201
    session.wait(20)
    assert life.state == lives.STOPPED
    assert session.request("GET", "/livez").status == 503


def test_a_watch_of_an_outside_client_ends_cleanly() -> None:
    session = server_session()
    watch: Answer = session.request("GET", f"{CONFIGMAPS}?watch=true")
    assert watch.status == 200 and not watch.done
    told = stop(session)
    assert watch.done
    assert told["watches"] >= 1
    assert b'"type":"ERROR"' not in watch.text


def test_components_are_refused_and_list_again_when_it_is_back() -> None:
    session = Session(default_inputs(nodes=2))
    stop(session)
    since = session.cluster.recorder.seq
    session.wait(20)
    waiting = [
        record["detail"]["why"]
        for record in session.records()
        if record["seq"] > since and record.get("state") == "waiting"
    ]
    assert waiting and set(waiting) == {lives.REFUSED}
    assert not any(
        record["kind"] == "request" for record in session.records() if record["seq"] > since
    )

    session.cluster.context.life.start()
    since = session.cluster.recorder.seq
    session.wait(60)

    listing = {
        record["detail"]["resource"]
        for record in session.records()
        if record["seq"] > since and record.get("state") == "listing"
    }
    assert {"pods", "nodes", "deployments.apps"} <= listing
    session.request("POST", DEPLOYMENTS, deployment("web"))
    session.wait(30)
    status = session.request("GET", f"{DEPLOYMENTS}/web").json()["status"]
    assert status["readyReplicas"] == status["replicas"] > 0


def test_what_happens_to_etcd_while_it_is_stopped_is_seen_afterwards() -> None:
    session = server_session()
    session.request("POST", CONFIGMAPS, configmap("a"))
    stop(session)
    session.cluster.store.delete("/registry/configmaps/default/a")
    session.cluster.context.life.start()
    assert session.request("GET", f"{CONFIGMAPS}/a").status == 404


def test_its_sign_of_life_goes_with_it_and_comes_back() -> None:
    session = server_session()
    key = f"{masterleases.PREFIX}{bootstrap.ADVERTISED_IP}"
    store = session.cluster.store
    assert store.get(key) is not None
    stop(session)
    session.wait(60)
    assert store.get(key) is None
    session.cluster.context.life.start()
    session.wait(masterleases.RENEW_SECONDS + 1)
    assert store.get(key) is not None


def test_only_what_runs_can_be_stopped_and_only_what_is_stopped_can_be_started() -> None:
    session = server_session()
    life = session.cluster.context.life
    with pytest.raises(lives.IllegalTransition, match="cannot start the API server: it is serving"):
        life.start()
    stop(session)
    with pytest.raises(lives.IllegalTransition, match="it is stopped"):
        life.stop()
