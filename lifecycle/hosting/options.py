"""The options of `manage.py demo`: read from the command line, handed to the worker as JSON.

Imports next to nothing, because it is read before anything else is.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from apiserver_app.machinery import releases
from apiserver_app.registry.limits import DEFAULTS

NODES, NODES_MAX = 3, 10_000
LIMIT_MAX = 1 << 40
SPEED_MIN, SPEED_MAX = 0.1, 1000.0
MINORS = range(8, 38)  # of Kubernetes 1.x, those whose types are known
DEFAULT_VERSION = str(releases.DEFAULT)
DEFAULT_PROFILE = "default"
SESSION = "session"  # not of a version only, but of a cluster
_PROFILES = Path(__file__).parent.parent / "catalog" / "profiles"
_EXAMPLE = """\
example:
  python manage.py demo --port 8080 --nodes 5 --speed 10 --data-dir /tmp/class

then, in another terminal:
  export KUBECONFIG=/tmp/class/kubeconfig
  kubectl get nodes

the page opens with the link that is printed; a program sends the token of DIR/endpoints.json:
  curl -H "Authorization: Bearer TOKEN" http://127.0.0.1:8080/viz/v1/clusters/demo

flags of kube-apiserver, each as --apiserver-arg FLAG=VALUE:
  authorization-mode=ABAC,RBAC and authorization-policy-file=policy.jsonl
  authorization-config=authz.yaml, authentication-config=authn.yaml (read again when they change)
  audit-policy-file=audit.yaml and audit-log-path=-
  enable-admission-plugins=AlwaysPullImages, admission-control-config-file=admission.yaml
  service-cluster-ip-range=10.43.0.0/16, service-node-port-range=30000-30099
  feature-gates=PodTopologyLabelsAdmission=true, runtime-config=batch/v1=false
  oidc-issuer-url=https://issuer.example and oidc-client-id=kubernetes
  max-requests-inflight=40, enable-priority-and-fairness=false
"""


class OptionError(Exception):
    """A bad option, in one sentence."""


@dataclass(frozen=True, slots=True)
class Options:
    """What one demo runs with. `speed` is a factor of real time or "max", None where none was
    given. `again`: for another worker of a demo that has run with them."""

    host: str = "127.0.0.1"
    port: int = 8000
    tls_port: int = 6443
    data_dir: Path = Path("data")
    nodes: int = NODES
    speed: float | str | None = None
    seed: int | None = None
    kubernetes_version: str = DEFAULT_VERSION
    profile: str = DEFAULT_PROFILE
    browser: bool = True
    auth: bool = True
    new_tokens: bool = False
    single_process: bool = False
    cluster: str = "demo"
    apiserver_args: tuple[str, ...] = ()
    scheduler_args: tuple[str, ...] = ()
    limits: tuple[tuple[str, int], ...] = ()  # of the cluster, by name
    again: bool = False

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "data_dir": str(self.data_dir)})

    @classmethod
    def from_json(cls, text: str) -> Options:
        values: dict[str, Any] = json.loads(text)
        values["data_dir"] = Path(values["data_dir"])
        values["apiserver_args"] = tuple(values["apiserver_args"])
        values["scheduler_args"] = tuple(values["scheduler_args"])
        values["limits"] = tuple((name, most) for name, most in values["limits"])
        return cls(**values)


def parse(arguments: Sequence[str]) -> Options:
    """Raises OptionError; prints the help and exits on --help."""
    given = parser().parse_args(list(arguments))
    if given.port == given.tls_port != 0:
        raise OptionError(f"--port and --tls-port are both {given.port}; they must differ")
    version, arguments_, machines = _of_profile(given.profile)
    return Options(
        host=given.host,
        port=given.port,
        tls_port=given.tls_port,
        data_dir=Path(given.data_dir).expanduser().absolute(),
        nodes=given.nodes or machines or NODES,
        speed=given.speed,
        seed=given.seed,
        kubernetes_version=given.kubernetes_version or version,
        profile=given.profile,
        browser=not given.no_browser,
        auth=not given.no_auth,
        new_tokens=given.new_tokens,
        single_process=given.single_process,
        apiserver_args=(*arguments_, *given.apiserver_arg),
        scheduler_args=tuple(given.scheduler_arg),
        limits=tuple(given.limit),
    )


def profiles() -> tuple[str, ...]:
    """Returns the names of the profiles, the oldest version first."""
    names = sorted((path.stem for path in _PROFILES.glob("v*.yaml")), key=_by_minor)
    return (DEFAULT_PROFILE, *names, SESSION)


def _by_minor(name: str) -> int:
    return int(name.partition(".")[2])


def _of_profile(name: str) -> tuple[str, tuple[str, ...], int]:
    """Returns the version of a profile, the flags of its API server, and how many machines it
    names."""
    if name == DEFAULT_PROFILE:
        return DEFAULT_VERSION, (), 0
    import yaml  # slow, and needed only for a named profile

    profile = yaml.safe_load((_PROFILES / f"{name}.yaml").read_text())
    machines = len(profile.get("machines") or ())
    return profile["kubernetes"], tuple(profile["apiserver-args"]), machines


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise OptionError(message)


def parser() -> argparse.ArgumentParser:
    """The command line of `demo`."""
    made = _Parser(
        prog="manage.py demo",
        description="Run a simulated Kubernetes cluster with its page, until Ctrl-C.",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    add(
        "--port",
        type=_port,
        default=8000,
        metavar="PORT",
        help="the page and the API without TLS; 0 picks a free one (default %(default)s)",
    )
    add(
        "--tls-port",
        type=_port,
        default=6443,
        metavar="PORT",
        help="the API with TLS, as kubectl needs it; 0 picks a free one (default %(default)s)",
    )
    add(
        "--data-dir",
        default="data",
        metavar="DIR",
        help="databases, certificates and kubeconfigs; a restart goes on (default ./%(default)s)",
    )
    add(
        "--nodes",
        type=_nodes,
        metavar="N",
        help=f"nodes of a new cluster: node-1, node-2, ... (default {NODES})",
    )
    add(
        "--speed",
        type=_speed,
        metavar="1|N|max",
        help="how fast virtual time runs against real time (default 1, or as it ran before)",
    )
    add("--seed", type=_seed, metavar="N", help="same seed, same inputs: the same run")
    add(
        "--kubernetes-version",
        type=_version,
        metavar="V",
        help=f"the version the cluster speaks, 1.{MINORS[0]} to 1.{MINORS[-1]} "
        f"(default {DEFAULT_VERSION})",
    )
    add(
        "--profile",
        choices=profiles(),
        default=DEFAULT_PROFILE,
        metavar="NAME",
        help="a version with the flags of its time, or the cluster of the articles' session: "
        + ", ".join(profiles()),
    )
    _add_repeated(made)
    add("--no-browser", action="store_true", help="do not open the page in a browser")
    add(
        "--no-auth",
        action="store_true",
        help="whoever reaches the page drives the cluster, without a token; on loopback only",
    )
    add("--new-tokens", action="store_true", help="links and sessions of the page begin anew")
    why = "edge and worker in one process: nothing replaces it when it hangs"
    add("--single-process", action="store_true", help=why)
    return made


def _add_repeated(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--apiserver-arg",
        action="append",
        default=[],
        metavar="FLAG=VALUE",
        help="a flag of kube-apiserver, such as authorization-mode=ABAC,RBAC; may be repeated; "
        "more examples below",
    )
    made.add_argument(
        "--scheduler-arg",
        action="append",
        default=[],
        metavar="FLAG=VALUE",
        help="a flag of kube-scheduler, up to 1.22: policy-config-file=policy.yaml",
    )
    defaults = ", ".join(f"{name}={most}" for name, most in DEFAULTS.items())
    made.add_argument(
        "--limit",
        action="append",
        default=[],
        type=_limit,
        metavar="NAME=NUMBER",
        help=f"how much the cluster holds; may be repeated (default {defaults})",
    )


def _limit(text: str) -> tuple[str, int]:
    name, _, most = text.partition("=")
    if name not in DEFAULTS:
        known = ", ".join(DEFAULTS)
        raise argparse.ArgumentTypeError(f"{text!r} is no limit: there are {known}")
    return name, _whole(most, 1, LIMIT_MAX)


def _port(text: str) -> int:
    return _whole(text, 0, 65535)


def _nodes(text: str) -> int:
    return _whole(text, 1, NODES_MAX)


def _seed(text: str) -> int:
    return _whole(text, 0, 2**63 - 1)


def _version(text: str) -> str:
    major, _, minor = text.removeprefix("v").partition(".")
    if major != "1" or not minor.isdecimal() or int(minor) not in MINORS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no version from 1.{MINORS[0]} to 1.{MINORS[-1]}"
        )
    return f"1.{int(minor)}"


def _whole(text: str, low: int, high: int) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if not low <= number <= high:
        raise argparse.ArgumentTypeError(f"{number} is not between {low} and {high}")
    return number


def _speed(text: str) -> float | str:
    if text == "max":
        return text
    try:
        speed = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor max") from None
    if not SPEED_MIN <= speed <= SPEED_MAX:
        raise argparse.ArgumentTypeError(
            f"{text} is not between {SPEED_MIN:g} and {SPEED_MAX:g}; max runs as fast as it can"
        )
    return speed
