"""A cluster that starts over is the one that an empty data directory gives, for all who look."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

from lifecycle.hosting.mark import Mark
from lifecycle.hosting.storecheck import STORE
from tests.apiserver_app.cluster import CONFIGMAPS, configmap
from tests.browser import asking
from tests.conformance.api import Api
from tests.lifecycle.hosting.running import REAL, Demo

NAMESPACE = "/api/v1/namespaces/kube-system"


def test_nothing_is_left_but_who_has_the_link_and_the_same_seed(tmp_path: Path) -> None:
    with Demo(tmp_path / "data", "--nodes", "1", driver=REAL) as demo:
        api = Api(demo, tmp_path)
        assert api.post(CONFIGMAPS, configmap("old", a="a")).code == 201
        first, uid = asking.state(demo), uid_of(api)
        feed = demo.feed()
        assert feed.json()["hello"]["epoch"] == first["epoch"]

        assert asking.control(demo, action="reset")["cluster"] == "demo"

        assert feed.close_code() == 4001  # it is to come back
        asking.until(lambda: has_begun_anew(demo, first["epoch"]))
        assert demo.feed().json()["hello"]["seed"] == first["seed"]
        assert asking.records(demo)[0]["seq"] == 1
        again = Api(demo, tmp_path)
        assert again.get(f"{CONFIGMAPS}/old").code == 404
        assert uid_of(again) == uid
        assert again.post(CONFIGMAPS, configmap("new", a="a")).code == 201
        asking.until(lambda: names_in_the_store(demo) == ["demo"])  # the old one was deleted since
    with Demo(tmp_path / "data", "--nodes", "1", driver=REAL) as demo:
        assert Mark(demo.data_dir, "demo").read() <= asking.state(demo)["revision"]
        assert Api(demo, tmp_path).get(f"{CONFIGMAPS}/new").code == 200


def test_one_process_for_all_refuses_it(tmp_path: Path) -> None:
    with Demo(tmp_path / "data", "--nodes", "1", "--single-process", driver=REAL) as demo:
        body = json.dumps({"action": "reset"}).encode()
        answer = demo.ask(
            "POST", f"{asking.CLUSTER}/control", body, Content_Type="application/json"
        )
        assert answer.status == 400
        assert "in a single process cannot start over" in answer.read().decode()
        assert asking.state(demo)["ready"]


def has_begun_anew(demo: Demo, epoch: str) -> bool:
    """Whether there is another cluster with all that one begins with; no worker has no epoch."""
    now = asking.state(demo)
    return now.get("epoch", epoch) != epoch and bool(now["ready"])


def names_in_the_store(demo: Demo) -> list[str]:
    with contextlib.closing(sqlite3.connect(demo.data_dir / STORE)) as database:
        return [row[0] for row in database.execute("SELECT name FROM apiserver_app_cluster")]


def uid_of(api: Api) -> Any:
    return api.get(NAMESPACE).json["metadata"]["uid"]
