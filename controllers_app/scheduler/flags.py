"""The flags of kube-scheduler that change what it decides, under upstream's names.

All of them are about the policy, and gone since 1.23.

Models kubernetes 1.22 cmd/kube-scheduler/app/options/deprecated.go (DeprecatedOptions).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from apiserver_app.machinery.client import Client
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.releases import Release
from controllers_app.scheduler import policy
from controllers_app.scheduler.policy import Policy, PolicyError

FILE, CONFIG_MAP = "policy-config-file", "policy-configmap"
NAMESPACE, LEGACY = "policy-configmap-namespace", "use-legacy-policy-config"
NAMES = (FILE, CONFIG_MAP, NAMESPACE, LEGACY)


class Flags(msgspec.Struct, frozen=True):
    """One scheduler's command line."""

    line: tuple[str, ...] = ()  # as it was given
    policy: Policy | None = None  # of the file
    config_map: str = ""  # of whose policy is asked at each start
    namespace: str = "kube-system"

    async def chosen(self, client: Client) -> Policy | None:
        """The policy that is in force at a start. Raises PolicyError."""
        if not self.config_map:
            return self.policy
        where = f"{self.namespace}/{self.config_map}"
        try:
            found = await client.get("configmaps", self.namespace, self.config_map)
        except ApiError as error:
            raise PolicyError(f"couldn't get policy config map {where}: {error.message}") from error
        text = (found.get("data") or {}).get(policy.KEY)
        if text is None:
            raise PolicyError(f'missing policy config map value at key "{policy.KEY}"')
        return policy.parse(text)


NONE = Flags()


def parse(arguments: Iterable[str], read: Callable[[str], str], version: Release) -> Flags:
    """Parses `name=value` pairs; `read` returns the text of a file. Raises PolicyError."""
    given: dict[str, str] = {}
    for argument in arguments:
        name, equals, value = argument.lstrip("-").partition("=")
        if name not in NAMES or not version.has("SchedulerPolicy"):
            raise PolicyError(f"unknown flag: --{name}")
        if not equals and name != LEGACY:
            raise PolicyError(f"flag needs an argument: --{name}")
        given[name] = value or "true"
    path, config_map = given.get(FILE, ""), given.get(CONFIG_MAP, "")
    legacy = given.get(LEGACY, "false") == "true"
    if legacy and not path:
        raise PolicyError(
            "policyConfigFile: Required value: required when --use-legacy-policy-config is true"
        )
    line = tuple(f"--{name}={value}" for name, value in given.items())
    if path and (legacy or not config_map):
        return Flags(line, _of_file(path, read))
    return Flags(line, None, config_map, given.get(NAMESPACE, "kube-system"))


def _of_file(path: str, read: Callable[[str], str]) -> Policy:
    try:
        return policy.parse(read(path))
    except FileNotFoundError as error:
        raise PolicyError(f"missing policy config file {path}") from error
    except OSError as error:
        raise PolicyError(f"couldn't read policy config: {error.strerror}") from error
