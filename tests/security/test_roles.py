"""Every route, message and action as everybody: what a role may not do is refused by the server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from channels.routing import URLRouter
from rest_framework.views import APIView

import lifecycle.asgi
import lifecycle.urls
from lifecycle.api import serializers
from lifecycle.api import urls as api_urls
from lifecycle.etcdctl import commands
from lifecycle.hosting.edge import access
from lifecycle.hosting.worker.control import Controls
from tests.lifecycle.hosting.running import Demo, WebSocket
from tests.security.callers import CHANGES, FEED, JSON, Caller, cookie
from tests.suite import seeds

# of all, for each of those who may come, each day; that each has its rule is looked at always
ROUTES_DRAWN, ACTIONS_DRAWN = 12, 20
METHODS = ("GET", "HEAD", "OPTIONS", *CHANGES)
PUBLIC = {"/", "/favicon.ico", "/viz", "/viz/", "/viz/v1/schema", "/viz/v1/docs"}


def urls() -> dict[str, Any]:
    """The callback of every route that Django serves, by its pattern."""
    found: dict[str, Any] = {}
    entries: list[Any] = [*lifecycle.urls.urlpatterns]
    for entry in entries:
        prefix = str(entry.pattern)
        inner: list[Any] = api_urls.urlpatterns if hasattr(entry, "url_patterns") else [entry]
        for one in inner:
            found[prefix * (one is not entry) + str(one.pattern)] = one.callback
    return found


def sockets() -> list[str]:
    """The pattern of every WebSocket but those that are refused before they open."""
    router = lifecycle.asgi.application.application_mapping["websocket"]
    assert isinstance(router, URLRouter)
    return [str(route.pattern) for route in router.routes][:-1]


def methods_of(callback: Any) -> set[str]:
    view = getattr(callback, "view_class", None)
    if view is None:
        return {"GET"}
    assert issubclass(view, APIView)
    return {name for name in access.METHODS if hasattr(view, name.lower())}


def test_every_route_has_a_rule_for_each_of_its_methods() -> None:
    """A new one without a rule fails here, and is the driver's alone until then."""
    served = {route: methods_of(callback) for route, callback in urls().items()}
    served |= {route: {"GET"} for route in sockets()}
    ruled = {
        route: set(rules)
        for route, rules in access.ROUTES.items()
        if route != "static/<path:file>"  # served before Django
    }
    assert ruled == served
    for role in (access.VIEWER, ""):
        assert access.UNLISTED not in access.ROLES[role]


def paths() -> list[str]:
    return sorted(
        "/"
        + route.replace("<str:cluster>", "demo")
        .replace("<int:seq>", "1")
        .replace("<str:trace>", "none")
        .replace("<str:namespace>", "default")
        .replace("<str:name>", "none")
        for route in urls()
    )


def forged(demo: Demo, kind: str) -> dict[str, str]:
    """A session that this demo did not give, or gave long ago."""
    tokens = {"driver": demo.endpoints["token"], "viewer": demo.endpoints["viewer_token"]}
    ours = access.Access(tokens)
    makers = {
        "expired": access.Access(tokens, lambda: -access.SESSION_SECONDS + 1.0),
        "of another directory": access.Access({role: role * 16 for role in tokens}),
    }
    if kind in makers:
        value = makers[kind].session("driver")
    else:
        value = ours.session("viewer").replace("viewer", "driver")
    return {"Cookie": f"{ours.cookie(False)}={value}", "Origin": demo.endpoints["http"]}


@pytest.fixture(scope="module")
def callers(demo: Demo) -> Iterator[dict[str, tuple[str, dict[str, str]]]]:
    """(role, headers) of everybody who may come."""
    driver, viewer = demo.endpoints["token"], demo.endpoints["viewer_token"]
    bearer = {name: {"Authorization": f"Bearer {name}"} for name in (driver, viewer)}
    yield {
        "nobody": ("", {}),
        "a wrong token": ("", {"Authorization": f"Bearer {driver[:-1]}"}),
        "no token": ("", {"Authorization": "Bearer "}),
        "a password": ("", {"Authorization": f"Basic {driver}"}),
        "a wrong token and a session": (
            "",
            {**cookie(demo, driver), "Authorization": "Bearer nothing"},
        ),
        "an expired session": ("", forged(demo, "expired")),
        "another cluster's session": ("", forged(demo, "of another directory")),
        "a viewer's session that was changed": ("", forged(demo, "changed")),
        "a viewer's token": ("viewer", bearer[viewer]),
        "a viewer's session": ("viewer", cookie(demo, viewer)),
        "a driver's token": ("driver", bearer[driver]),
        "a driver's session": ("driver", cookie(demo, driver)),
    }


EVERYBODY = (
    "nobody", "a wrong token", "no token", "a password", "a wrong token and a session",
    "an expired session", "another cluster's session", "a viewer's session that was changed",
    "a viewer's token", "a viewer's session", "a driver's token", "a driver's session",
)  # fmt: skip


@pytest.mark.parametrize("who", EVERYBODY)
def test_every_route_lets_in_those_who_may(
    demo: Demo, callers: dict[str, tuple[str, dict[str, str]]], who: str
) -> None:
    role, headers = callers[who]
    caller = Caller(demo, headers)
    wrong = []
    for path in seeds.draw(f"routes for {who}", paths(), ROUTES_DRAWN):
        for method in METHODS:
            status = caller.ask(method, path).status
            reads = method not in CHANGES
            if role == "driver" or (reads and path in PUBLIC - {"/"}):
                right = status not in (401, 403)
            elif role == "viewer":
                known = reads and path.rpartition("/")[2] not in (
                    "control",
                    "console",
                    "vote",
                    "apply",
                    "get",
                    "request",
                    "openapi",
                    "import",
                )
                known = known or (method == "POST" and path.endswith("/vote"))
                right = (status not in (401, 403)) if known else status == 403
            else:
                right = status == 401
            if not right:
                wrong.append((method, path, status))
    assert wrong == []


@pytest.mark.parametrize("who", EVERYBODY[:10])
def test_no_action_and_no_line_of_the_console_is_for_those_who_do_not_drive(
    demo: Demo, callers: dict[str, tuple[str, dict[str, str]]], who: str
) -> None:
    before = demo.act("seen")["controls"]
    caller = Caller(demo, callers[who][1])
    lines = [f"etcdctl {command.name}" for command in commands.COMMANDS]
    actions = sorted({*Controls({}).actions, *serializers.ACTIONS})
    bodies = [("control", {"action": one}) for one in actions]
    bodies += [("console", {"command": line}) for line in lines]
    assert len(bodies) > 40
    for route, body in seeds.draw(f"actions of {who}", bodies, ACTIONS_DRAWN):
        path = f"/viz/v1/clusters/demo/{route}"
        connection = demo.connect()
        connection.request("POST", path, json.dumps(body), {**JSON, **callers[who][1]})
        assert connection.getresponse().status in (401, 403), body
    assert caller.ask("GET", "/viz/v1/docs").status == 200
    assert demo.act("seen")["controls"] == before


@pytest.mark.parametrize("who", EVERYBODY)
def test_the_feed_is_for_those_who_watch_and_says_why_it_is_not_for_others(
    demo: Demo, callers: dict[str, tuple[str, dict[str, str]]], who: str
) -> None:
    role, headers = callers[who]
    feed = WebSocket(demo.authority, FEED, **headers)
    if role:
        assert "hello" in feed.json()
    else:
        assert "link with the token" in feed.json()["error"]
        assert feed.close_code() == 4401
    feed.close()


def test_what_comes_over_the_feed_is_taken_from_nobody(demo: Demo) -> None:
    feed = demo.feed()
    feed.json()
    before = demo.act("seen")["controls"]
    for action in Controls({}).actions:
        feed.send(json.dumps({"action": action, "type": action}).encode(), opcode=1)
    demo.act("clock", mode="paused")
    while "clock" not in feed.json():
        pass
    assert demo.act("seen")["controls"] == before
    feed.close()


def test_a_program_may_name_its_token_in_the_address_of_the_feed_only(demo: Demo) -> None:
    token = demo.endpoints["viewer_token"]
    feed = WebSocket(demo.authority, f"{FEED}?from=1&token={token}")
    assert "hello" in feed.json()
    feed.close()
    for path in (f"{FEED}?token=x{token}", f"{FEED}?token=", "/ws/v1/nothing"):
        feed = WebSocket(demo.authority, path)
        assert "link with the token" in feed.json()["error"]
        feed.close()
    assert Caller(demo, {}).ask("GET", f"/viz/v1/clusters?token={token}").status == 401


# -- other sites ------------------------------------------------------------------------------


def origins(demo: Demo) -> list[str]:
    port = demo.authority[1]
    return [
        "http://evil.example",
        "null",
        "",
        f"http://127.0.0.1:{port + 1}",
        "file://",
        f"http://127.0.0.1.evil.example:{port}",
        f"http://localhost:{port}",
    ]


@pytest.mark.parametrize("who", ["a driver's session", "a driver's token"])
def test_no_other_page_acts_for_somebody_who_drives(
    demo: Demo, callers: dict[str, tuple[str, dict[str, str]]], who: str
) -> None:
    headers = callers[who][1]
    before = demo.act("seen")["controls"]
    for origin in origins(demo):
        caller = Caller(demo, headers | {"Origin": origin})
        for path in paths():
            for method in CHANGES:
                assert caller.ask(method, path).status == 403, (origin, path)
        feed = WebSocket(demo.authority, FEED, **{**headers, "Origin": origin})
        assert feed.status in (400, 403)
        feed.close()
    assert demo.act("seen")["controls"] == before


def test_a_session_acts_only_for_a_page_that_names_itself(
    demo: Demo, callers: dict[str, tuple[str, dict[str, str]]]
) -> None:
    """A browser says where a request comes from; one that hides it is not to be trusted."""
    session = {"Cookie": callers["a driver's session"][1]["Cookie"]}
    caller = Caller(demo, session)
    assert caller.ask("POST", "/viz/v1/clusters/demo/control").status == 403
    assert caller.ask("GET", "/viz/v1/clusters/demo").status == 200
    assert WebSocket(demo.authority, FEED, **session).status == 403


@pytest.mark.parametrize("who", ["a driver's session", "a driver's token"])
def test_a_name_that_was_pointed_at_this_machine_gets_nothing(
    demo: Demo, callers: dict[str, tuple[str, dict[str, str]]], who: str
) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", f"evil.example:{demo.authority[1]}"):
        caller = Caller(demo, callers[who][1] | {"Host": host, "Origin": f"http://{host}"})
        for path in paths():
            assert caller.ask("GET", path).status == 400
            assert caller.ask("POST", path).status == 400
