"""Time, randomness, the database and the catch-all stand only where they are expected."""

from __future__ import annotations

import ast
import re

import pytest

from tests.tidy import sources

# where the wall clock, the machine's randomness and waiting come in, and why
OUTSIDE = {
    "lifecycle/hosting/": "the kernel host and the edge live in wall time",
    "lifecycle/bench/": "measures wall time",
    "lifecycle/cluster/composition.py": "the composition root",
    "lifecycle/management/commands/trace.py": "replays a file in the terminal at real speed",
    "lifecycle/web/past.py": "the edge reads ahead while there is time",
    "lifecycle/settings.py": "Django's secret key",
    "apiserver_app/auth/pki.py": "keys, certificates and tokens are real",
}
IMPURE = re.compile(
    r"^(datetime\.(datetime\.)?(now|utcnow|today)|date\.today|time\.\w+|random\.\w+|secrets\.\w+"
    r"|uuid\.uuid[14]|uuid[14]|os\.u?random|asyncio\.sleep|sleep)$"
)
PURE = {"time.struct_time", "time.strftime", "time.strptime", "time.gmtime", "random.Random"}

# the retry switch and the edge of each process
CATCH_ALL = {
    "controllers_app/runtime/controller.py": "the retry switch",
    "apiserver_app/machinery/kernel.py": "a task's error is the host's to judge",
    "apiserver_app/http/server.py": "a bug must not hang a client",
    "lifecycle/web/consumers.py": "the edge, WebSockets",
    "lifecycle/hosting/edge/adapter/server.py": "the edge, HTTP",
    "lifecycle/hosting/worker/process.py": "the edge, the worker's main loop",
    "lifecycle/hosting/worker/forks.py": "a fork that cannot be made ends no cluster",
    "lifecycle/hosting/edge/adapter/turns.py": "what is done in turn fails for who waits for it",
    "lifecycle/hosting/worker/driver.py": "a control action that fails ends no cluster",
}

# the store, the trace beside it, what makes and measures the tables
ORM = (
    "apiserver_app/models.py", "apiserver_app/migrations/", "apiserver_app/etcd/",
    "lifecycle/trace/", "lifecycle/hosting/schema.py", "lifecycle/bench/",
)  # fmt: skip


def test_no_wall_clock_and_no_randomness_but_in_the_listed_files() -> None:
    impure = [
        f"{sources.name(path)}:{node.lineno} {called}"
        for path in sources.product()
        if not sources.name(path).startswith(tuple(OUTSIDE))
        for node in sources.nodes(path)
        if isinstance(node, ast.Call)
        and IMPURE.match(called := sources.dotted(node.func))
        and called not in PURE
    ]
    assert impure == []


@pytest.mark.parametrize("listed", sorted({*OUTSIDE, *CATCH_ALL, *ORM}))
def test_the_lists_of_exceptions_name_what_exists(listed: str) -> None:
    assert (sources.ROOT / listed).exists()


def test_everything_is_caught_in_the_listed_files_only() -> None:
    catching = {
        sources.name(path)
        for path in sources.product()
        for node in sources.nodes(path)
        if isinstance(node, ast.ExceptHandler) and _catches_all(node)
    }
    assert sorted(catching - set(CATCH_ALL)) == []
    assert sorted(set(CATCH_ALL) - catching) == [], "no longer needed in the list"


def test_the_database_is_used_by_the_store_and_the_trace_only() -> None:
    using = {
        sources.name(path)
        for path in sources.product()
        for module in sources.imported(path)
        if module.startswith("django.db")
    }
    assert sorted(one for one in using if not one.startswith(ORM)) == []


def test_django_signals_are_not_used() -> None:
    using = [
        sources.name(path)
        for path in sources.product()
        for module in sources.imported(path)
        if re.match(r"django\..*signals", module)
    ]
    assert using == []


def _catches_all(node: ast.ExceptHandler) -> bool:
    caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return any(
        one is None or sources.dotted(one) in ("Exception", "BaseException") for one in caught
    )
