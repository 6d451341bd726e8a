"""The page's link, the sessions made from it, and the tokens of a data directory."""

from __future__ import annotations

import hmac
import http.client
import json
from pathlib import Path
from typing import Any

import pytest

from lifecycle.hosting import options, preparation
from lifecycle.hosting.edge import access
from tests.lifecycle.hosting.running import Demo, WebSocket
from tests.security.callers import FEED, Caller, cookie

# -- the link ---------------------------------------------------------------------------------


def test_the_link_becomes_a_session_and_leaves_no_token_behind(demo: Demo) -> None:
    token = demo.endpoints["token"]
    assert demo.endpoints["page"] == f"{demo.endpoints['http']}/?token={token}"
    answer = demo.get(f"/?token={token}&trace=a%20b&lang=zh&lang=en")
    assert answer.status == 302
    assert answer.headers["Location"] == "/?trace=a+b&lang=zh&lang=en"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cache-Control"] == "no-store"
    session, *marks = answer.headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} == set(marks)
    assert token not in str(answer.headers) + answer.read().decode()
    page = Caller(demo, {"Cookie": session}).ask("GET", "/")
    assert page.status == 200 and b'data-role="driver"' in page.data  # type: ignore[attr-defined]


def test_over_tls_the_session_is_one_that_plain_http_can_neither_see_nor_set(demo: Demo) -> None:
    token = demo.endpoints["token"]
    connection = http.client.HTTPSConnection(*demo.tls_authority, context=demo.tls())
    connection.request("GET", f"/?token={token}")
    session, *marks = connection.getresponse().headers["Set-Cookie"].split("; ")
    assert session.startswith("__Host-") and "Secure" in marks
    assert Caller(demo, {"Cookie": session}).ask("GET", "/viz/v1/cast").status == 401
    connection = http.client.HTTPSConnection(*demo.tls_authority, context=demo.tls())
    connection.request("GET", "/viz/v1/cast", headers={"Cookie": session})
    assert connection.getresponse().status == 200
    connection = http.client.HTTPSConnection(*demo.tls_authority, context=demo.tls())
    connection.request("GET", "/viz/v1/cast", headers=cookie(demo, token))
    assert connection.getresponse().status == 401


@pytest.mark.parametrize("more", [
    "next=http://evil.example", "next=//evil.example", "/evil.example", "\\evil.example",
    "x=%0d%0aSet-Cookie:%20a=b", "url=javascript:alert(1)",
])  # fmt: skip
def test_the_link_leads_nowhere_else(demo: Demo, more: str) -> None:
    answer = demo.get(f"/?{more}&token={demo.endpoints['token']}")
    place = answer.headers["Location"]
    assert place.startswith("/?") and "//" not in place and "\\" not in place
    assert answer.headers.get_all("Set-Cookie", [])[1:] == []


def test_paths_with_two_slashes_are_not_the_page(demo: Demo) -> None:
    for path in ("//evil.example/", "/%2fevil.example", "/\\evil.example"):
        answer = demo.get(f"{path}?token={demo.endpoints['token']}")
        assert "Location" not in answer.headers and "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("dest", ["image", "iframe", "empty", "script"])
def test_another_page_does_not_change_who_its_visitor_is(demo: Demo, dest: str) -> None:
    """A picture of the link to watch would otherwise take the session from somebody who drives."""
    answer = demo.get(f"/?token={demo.endpoints['viewer_token']}", Sec_Fetch_Dest=dest)
    assert (answer.status, "Set-Cookie" in answer.headers) == (401, False)


@pytest.mark.parametrize("token", ["nothing", "", "%00", "%ff", "a" * 5000, "Bearer%20x"])
def test_a_wrong_token_is_told_in_words(demo: Demo, token: str) -> None:
    answer = demo.get(f"/?token={token}")
    text = answer.read().decode()
    assert answer.status == 401 and "Set-Cookie" not in answer.headers
    assert "The token is not one of this cluster." in text and "endpoints.json" in text
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_without_a_credential_the_page_says_where_the_link_is(demo: Demo) -> None:
    answer = demo.get("/")
    text = answer.read().decode()
    assert answer.status == 401 and "The terminal in which the demo runs" in text
    assert 'name="token"' in text and "not one of this cluster" not in text


def test_the_product_api_says_what_it_needs(demo: Demo) -> None:
    answer = Caller(demo, {}).ask("GET", "/viz/v1/clusters")
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    told = json.loads(answer.data)  # type: ignore[attr-defined]
    assert (told["status"], told["title"]) == (401, "Unauthorized")
    assert "link with the token" in told["detail"]


def test_an_upload_of_somebody_who_may_not_is_refused_before_it_comes(demo: Demo) -> None:
    connection = demo.connect()
    connection.putrequest("POST", "/viz/v1/traces/import")
    connection.putheader("Content-Length", str(100 << 20))
    connection.endheaders()
    assert connection.getresponse().status == 401


# -- tokens and sessions ----------------------------------------------------------------------


TOKENS = {"driver": "d" * 20, "viewer": "v" * 20}


def session(value: str) -> list[tuple[bytes, bytes]]:
    name = access.Access(TOKENS).cookie(False)
    return [(b"cookie", f"other=1; {name}=; {name}={value}; x".encode())]


def test_a_session_ends_by_its_time_and_with_its_token() -> None:
    now = [1000.0]
    ours = access.Access(TOKENS, lambda: now[0])
    value = ours.session("viewer")
    assert ours.caller(session(value), False) == access.Caller("viewer", by_cookie=True)
    now[0] += access.SESSION_SECONDS
    assert ours.caller(session(value), False) == access.Caller()
    renewed = access.Access({**TOKENS, "viewer": "w" * 20}, lambda: 1000.0)
    assert renewed.caller(session(value), False) == access.Caller()


@pytest.mark.parametrize("value", [
    "", "driver", "driver.", "driver..", "driver.9.", "driver.x.y", "driver.99999999999999.0",
    "driver.-1.0", ".9.0", "nobody.9.0", "driver.1e9.0", "driver.\u0661.0", "é.1.2",
])  # fmt: skip
def test_what_is_no_session_is_nobodys(value: str) -> None:
    ours = access.Access(TOKENS, lambda: 0.0)
    name = ours.cookie(False)
    for sent in (value.encode(), value.encode("utf-16")):
        assert ours.caller([(b"cookie", name.encode() + b"=" + sent)], False) == access.Caller()


def test_the_end_of_a_session_is_signed_with_it() -> None:
    ours = access.Access(TOKENS, lambda: 0.0)
    role, end, signature = ours.session("driver").split(".")
    longer = f"{role}.{int(end) + 1}.{signature}"
    assert ours.caller(session(longer), False) == access.Caller()


def test_tokens_are_compared_in_the_same_time_and_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[bytes] = []
    real = hmac.compare_digest

    def compare(known: bytes, sent: bytes) -> bool:
        compared.append(known)
        return real(known, sent)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    for token in (*TOKENS.values(), "nothing"):
        compared.clear()
        access.Access(TOKENS).role_of(token)
        assert len(compared) == len(TOKENS)


def test_cookies_of_two_data_directories_do_not_meet() -> None:
    """A browser sends the cookies of one port to all ports of a host."""
    other = access.Access({role: role * 16 for role in TOKENS})
    assert other.cookie(False) != access.Access(TOKENS).cookie(False)


# -- the start --------------------------------------------------------------------------------


def test_tokens_outlive_a_restart_until_new_ones_are_wanted(tmp_path: Path) -> None:
    with Demo(tmp_path) as demo:
        kept, value = demo.endpoints, cookie(demo, demo.endpoints["token"])
    with Demo(tmp_path) as demo:
        assert demo.endpoints["token"] == kept["token"]
        assert Caller(demo, {"Cookie": value["Cookie"]}).ask("GET", "/viz/v1/cast").status == 200
    with Demo(tmp_path, "--new-tokens") as demo:
        assert demo.endpoints["token"] != kept["token"]
        assert demo.endpoints["viewer_token"] != kept["viewer_token"]
        assert Caller(demo, {"Cookie": value["Cookie"]}).ask("GET", "/viz/v1/cast").status == 401


def test_without_auth_whoever_reaches_the_page_drives(tmp_path: Path) -> None:
    with Demo(tmp_path, "--no-auth") as demo:
        assert demo.endpoints["page"] == f"{demo.endpoints['http']}/"
        assert demo.endpoints["token"] == ""
        caller = Caller(demo, {})
        assert b'data-role="driver"' in caller.ask("GET", "/").data  # type: ignore[attr-defined]
        assert caller.ask("POST", "/viz/v1/clusters/demo/control").status == 400
        assert caller.ask("GET", "/", Host="evil.example").status == 400
        evil = {"Origin": "http://evil.example"}
        assert caller.ask("POST", "/viz/v1/clusters/demo/control", **evil).status == 403
        assert demo.get("/?token=old&lang=zh").headers["Location"] == "/?lang=zh"
        feed = WebSocket(demo.authority, FEED)
        assert "hello" in feed.json()
        feed.close()


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_no_auth_is_refused_where_others_could_come(tmp_path: Path, host: str) -> None:
    demo = Demo(tmp_path / "data", "--no-auth", "--host", host)
    assert demo.errors() == (
        f"demo: --no-auth is for loopback: whoever reaches {host} would drive the cluster; "
        "leave it out, or use --host 127.0.0.1\n"
    )
    assert not (tmp_path / "data").exists()
    demo.__exit__()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b'{\n"driver": x}', "page-tokens.json, line 2: Expecting value"),
        (b"", "page-tokens.json, line 1: Expecting value"),
        (b"\xff\xff", "page-tokens.json, line 1: this is not UTF-8 text"),
        (b"[]", "page-tokens.json, line 1: tokens by role are expected"),
        (b'{"root": "x"}', "page-tokens.json: there is no role 'root'"),
        (
            b'{"driver": "short"}',
            "page-tokens.json: the token of the driver must be 16 or more letters",
        ),
        (b'{"driver": "with & and = that mean more"}', "must be 16 or more letters, digits"),
        (
            b'{"driver": "the-same-for-both", "viewer": "the-same-for-both"}',
            "page-tokens.json: two roles have the same token",
        ),
        (b'{"driver": 5}', "page-tokens.json: the token of the driver must be 16 or more letters"),
    ],
)
def test_garbage_in_the_file_of_tokens_is_told_with_its_line(
    tmp_path: Path, text: bytes, told: str
) -> None:
    (tmp_path / preparation.TOKENS).write_bytes(text)
    with pytest.raises(preparation.StartError, match="delete the file") as refused:
        preparation.make_tokens(options.parse(["--data-dir", str(tmp_path)]))
    assert told in str(refused.value) and "\n" not in str(refused.value)


def test_on_a_network_there_are_two_links_by_tls_and_a_warning() -> None:
    known: dict[str, Any] = dict.fromkeys(preparation.Prepared.__struct_fields__)
    known.update(
        on_loopback=False,
        tokens=TOKENS,
        http_url="http://10.0.0.5:8000",
        network_url="https://10.0.0.5:6443",
    )
    prepared = preparation.Prepared(**known)
    said = prepared.links()
    assert f"https://10.0.0.5:6443/?token={TOKENS['driver']}\n" in said
    assert f"https://10.0.0.5:6443/?token={TOKENS['viewer']}\n" in said
    assert "WARNING     http://10.0.0.5:8000 is not encrypted" in said
    assert "http://10.0.0.5:8000/?token" not in said
