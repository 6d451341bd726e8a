"""What a browser may do with an answer of the page's server."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.utils.deprecation import MiddlewareMixin
from django.utils.module_loading import import_string

from tests.lifecycle.hosting.running import Demo


@pytest.mark.parametrize(
    ("path", "referrer"), [("/", "no-referrer"), ("/viz/v1/clusters", "same-origin")]
)
def test_an_answer_is_framed_by_nobody_and_is_what_it_says_it_is(
    demo: Demo, path: str, referrer: str
) -> None:
    answer = demo.get(path)
    answer.read()
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert answer.headers["Referrer-Policy"] == referrer


def test_no_middleware_takes_a_request_into_another_thread() -> None:
    given = [import_string(path) for path in settings.MIDDLEWARE]
    assert given and all(middleware.async_capable for middleware in given)
    hooks = [one for one in given if isinstance(one, type) and issubclass(one, MiddlewareMixin)]
    assert hooks == []
