"""The API server's command line in a demo: what kubeadm would write, then what the user adds.

Read by both processes: the worker builds the cluster from it, the edge asks clients for
certificates of the authorities it names.
"""

from __future__ import annotations

from pathlib import Path

from apiserver_app import flags
from apiserver_app.apis import servicenet
from apiserver_app.auth import issuer
from apiserver_app.machinery.releases import Release
from lifecycle.hosting.options import Options


def command_line(options: Options) -> tuple[str, ...]:
    """The flags in order; a later one overrides an earlier."""
    folder = options.data_dir
    own_issuer = any(
        one.lstrip("-").startswith(("oidc-", "authentication-config"))
        for one in options.apiserver_args
    )
    return (
        f"--client-ca-file={folder / 'pki' / 'ca.crt'}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        *([] if own_issuer else issuer.FLAGS),
        *options.apiserver_args,
    )


def parse(options: Options) -> flags.Flags:
    """Raises flags.FlagError, which is a ValueError."""
    try:
        return flags.parse(command_line(options), read, Release.parse(options.kubernetes_version))
    except flags.FlagError as error:
        raise flags.FlagError(f"{error}{_hint(str(error))}") from error


def _hint(said: str) -> str:
    """The flag that was meant, perhaps."""
    unknown = said.removeprefix("unknown flag: --")
    if unknown == said:
        return ""
    import difflib  # only who mistypes needs it

    near = difflib.get_close_matches(unknown, flags.names(), 1)
    if near and near[0] != unknown:
        return f"; did you mean --{near[0]}?"
    return "; it is not simulated, or not of this version: --help has examples of those that are"


def service_address(options: Options) -> str:
    """Where containers find the API server: its certificate names it. Read before the rest, since
    flags name files that are made with the certificates; who gives a bad range is told later."""
    name = "service-cluster-ip-range="
    given = [one.lstrip("-") for one in options.apiserver_args]
    ranges = [one.removeprefix(name) for one in given if one.startswith(name)]
    try:
        return servicenet.parse((ranges or [servicenet.CIDR])[-1], servicenet.PORTS).apiserver
    except ValueError:
        return servicenet.DEFAULT.apiserver


def client_authorities(given: flags.Flags) -> list[str]:
    """PEM texts of those whose client certificates the server wants to see."""
    texts = (given.client_ca_file, given.requestheader_client_ca_file)
    return [text for text in texts if text]


def read(name: str) -> str:
    """The text of a file that a flag names."""
    return Path(name).expanduser().read_text()
