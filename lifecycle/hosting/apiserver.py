"""The command lines in a demo: what kubeadm would write, then what the user adds.

Read by both processes: the worker builds the cluster from it, the edge asks clients for
certificates of the authorities it names.
"""

from __future__ import annotations

from pathlib import Path

from apiserver_app import flags
from apiserver_app.apis import servicenet
from apiserver_app.auth import issuer, pki
from apiserver_app.machinery.releases import Release
from controllers_app.scheduler import flags as scheduler_flags
from lifecycle.hosting.options import Options


def command_line(options: Options) -> tuple[str, ...]:
    """Returns the flags in order; later ones override earlier ones."""
    folder = options.data_dir
    own_issuer = any(
        argument.lstrip("-").startswith(("oidc-", "authentication-config"))
        for argument in options.apiserver_args
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


def scheduler(options: Options) -> scheduler_flags.Flags:
    """The command line of the scheduler. Raises ValueError."""
    version = Release.parse(options.kubernetes_version)
    return scheduler_flags.parse(options.scheduler_args, read, version)


def _hint(error: str) -> str:
    """Suggests a known flag for an unknown one."""
    unknown = error.removeprefix("unknown flag: --")
    if unknown == error:
        return ""
    import difflib  # needed only after a typing error

    near = difflib.get_close_matches(unknown, flags.names(), 1)
    if near and near[0] != unknown:
        return f"; did you mean --{near[0]}?"
    return "; it is not simulated, or not of this version: --help has examples of those that are"


def service_address(options: Options) -> str:
    """Returns the API server's address for containers, which its certificate names.

    Needed before the other flags are parsed, because they name files made with the certificates. An
    invalid range is reported later.
    """
    name = "service-cluster-ip-range="
    given = [argument.lstrip("-") for argument in options.apiserver_args]
    ranges = [flag.removeprefix(name) for flag in given if flag.startswith(name)]
    try:
        return servicenet.parse((ranges or [servicenet.CIDR])[-1], servicenet.PORTS).apiserver
    except ValueError:
        return servicenet.DEFAULT.apiserver


def client_authorities(given: flags.Flags) -> list[str]:
    """Returns the authorities (PEM) whose client certificates the server accepts."""
    texts = (given.client_ca_file, given.requestheader_client_ca_file)
    return [text for text in texts if text]


def read(name: str) -> str:
    """Reads a file that a flag names."""
    return pki.read_text(Path(name).expanduser())
