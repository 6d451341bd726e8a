"""The flags of kube-apiserver that change what a cluster decides, under upstream's names.

`parse` reads `name=value` pairs (`demo --apiserver-arg name=value`), as the real program reads its
command line. An unknown flag is refused by name. A flag that names a file then holds the file's
text: the caller of `parse` reads it, nothing inside the cluster does.

Adding a flag is adding a field; its name with dashes is the flag's name.

Models kubernetes pkg/kubeapiserver/options and staging/src/k8s.io/apiserver/pkg/server/options.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from apiserver_app.admission import config
from apiserver_app.apis import servicenet
from apiserver_app.egress import kubeconfigs
from apiserver_app.machinery import releases
from apiserver_app.machinery.kinds import features, runtimeconfig
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import goduration


class FileText(str):
    """The text of a named file, and its name; both empty when no file was named."""

    name: str = ""


class KubeconfigText(FileText):
    """The text of a kubeconfig with the certificates and keys it names inlined."""


class ConfigText(FileText):
    """The text of a configuration that names kubeconfigs; `files` has their texts by name."""

    files: Mapping[str, str] = MappingProxyType({})


class AdmissionText(FileText):
    """The text of an admission configuration with the files it names inlined."""


NO_FILE, NO_KUBECONFIG, NO_CONFIG = FileText(), KubeconfigText(), ConfigText()
NO_ADMISSION = AdmissionText()

# stands for the file that kubeadm generated for this cluster
CLUSTERS = FileText("(the cluster's own)")
# flags that only some releases have
_SPANS = {
    "basic-auth-file": releases.BEHAVIOURS["BasicAuthentication"],
    "authentication-config": releases.Span(29),
    "authorization-config": releases.Span(29),
}


class FlagError(ValueError):
    """An invalid flag; the message is kube-apiserver's."""


@dataclass(frozen=True, slots=True)
class Flags:
    """One API server's command line, parsed. Durations are seconds."""

    advertise_address: str = "10.0.0.11"  # the first node's, where the control plane runs
    anonymous_auth: bool = True
    client_ca_file: FileText = CLUSTERS
    requestheader_client_ca_file: FileText = NO_FILE
    requestheader_allowed_names: tuple[str, ...] = ()
    requestheader_username_headers: tuple[str, ...] = ("X-Remote-User",)
    requestheader_uid_headers: tuple[str, ...] = ()
    requestheader_group_headers: tuple[str, ...] = ("X-Remote-Group",)
    requestheader_extra_headers_prefix: tuple[str, ...] = ("X-Remote-Extra-",)
    proxy_client_cert_file: FileText = NO_FILE
    proxy_client_key_file: FileText = NO_FILE
    basic_auth_file: FileText = NO_FILE
    token_auth_file: FileText = NO_FILE
    service_account_issuer: tuple[str, ...] = ("https://kubernetes.default.svc.cluster.local",)
    service_account_key_file: FileText = CLUSTERS
    service_account_lookup: bool = True
    service_account_max_token_expiration: float = 0.0
    service_account_extend_token_expiration: bool = True
    api_audiences: tuple[str, ...] = ()
    enable_bootstrap_token_auth: bool = False
    oidc_issuer_url: str = ""
    oidc_client_id: str = ""
    oidc_username_claim: str = "sub"
    oidc_username_prefix: str = ""
    oidc_groups_claim: str = ""
    oidc_groups_prefix: str = ""
    oidc_required_claim: tuple[str, ...] = ()
    oidc_signing_algs: tuple[str, ...] = ("RS256",)
    oidc_ca_file: FileText = NO_FILE
    authentication_config: FileText = NO_FILE
    authentication_token_webhook_config_file: KubeconfigText = NO_KUBECONFIG
    authentication_token_webhook_version: str = "v1beta1"
    authentication_token_webhook_cache_ttl: float = 120.0
    authorization_mode: tuple[str, ...] = ("Node", "RBAC")
    authorization_policy_file: FileText = NO_FILE
    authorization_webhook_config_file: KubeconfigText = NO_KUBECONFIG
    authorization_webhook_version: str = "v1beta1"
    authorization_webhook_cache_authorized_ttl: float = 300.0
    authorization_webhook_cache_unauthorized_ttl: float = 30.0
    authorization_config: ConfigText = NO_CONFIG
    shutdown_delay_duration: float = 0.0
    audit_policy_file: FileText = NO_FILE
    audit_log_path: str = ""
    audit_log_maxage: int = 0
    audit_log_maxbackup: int = 0
    audit_log_maxsize: int = 100
    audit_log_compress: bool = False
    audit_log_format: str = "json"
    audit_log_mode: str = "blocking"
    audit_log_version: str = "audit.k8s.io/v1"
    audit_log_truncate_enabled: bool = False
    audit_log_truncate_max_event_size: int = 102_400
    audit_webhook_config_file: KubeconfigText = NO_KUBECONFIG
    audit_webhook_initial_backoff: float = 10.0
    audit_webhook_mode: str = "batch"
    audit_webhook_batch_buffer_size: int = 10_000
    audit_webhook_batch_max_size: int = 400
    audit_webhook_batch_max_wait: float = 30.0
    audit_webhook_batch_throttle_enable: bool = True
    audit_webhook_batch_throttle_qps: int = 10
    audit_webhook_batch_throttle_burst: int = 15
    audit_webhook_version: str = "audit.k8s.io/v1"
    audit_webhook_truncate_enabled: bool = False
    audit_webhook_truncate_max_event_size: int = 102_400
    storage_backend: str = ""  # default: etcd3
    profiling: bool = True
    enable_priority_and_fairness: bool = True
    max_requests_inflight: int = 400
    max_mutating_requests_inflight: int = 200
    enable_admission_plugins: tuple[str, ...] = ("NodeRestriction",)
    disable_admission_plugins: tuple[str, ...] = ()
    admission_control: tuple[str, ...] = ()  # the old flag: replaces the default plugins
    admission_control_config_file: AdmissionText = NO_ADMISSION
    service_cluster_ip_range: str = servicenet.CIDR
    service_node_port_range: str = servicenet.PORTS
    feature_gates: tuple[str, ...] = ()  # Name=true
    runtime_config: tuple[str, ...] = ()  # group/version=true
    # ours: where external programs may be called (webhooks, issuers, servers)
    outbound_allowed_addresses: tuple[str, ...] = ("127.0.0.0/8", "::1/128")

    @property
    def services(self) -> servicenet.ServiceNet:
        """Returns the IP and port ranges of services."""
        return servicenet.parse(self.service_cluster_ip_range, self.service_node_port_range)


def names() -> tuple[str, ...]:
    """Returns the name of every flag, in order."""
    return tuple(field.name.replace("_", "-") for field in dataclasses.fields(Flags))


def parse(
    arguments: Iterable[str], read: Callable[[str], str], version: Release = releases.DEFAULT
) -> Flags:
    """Parses `name=value` pairs, with or without leading dashes; `read` returns the text of a file.
    A repeated flag takes the last value, except a list, which grows. An empty value of a flag that
    names a file switches its feature off."""
    fields = {item.name.replace("_", "-"): item for item in dataclasses.fields(Flags)}
    values: dict[str, Any] = {}
    for argument in arguments:
        name, equals, text = argument.lstrip("-").partition("=")
        field = fields.get(name)
        if field is None or not _SPANS.get(name, releases.Span()).includes(version):
            raise FlagError(f"unknown flag: --{name}")
        value = _value(name, str(field.type), text if equals else None, read)
        if isinstance(value, tuple):
            value = values.get(field.name, ()) + value
        values[field.name] = value
    _check_switches(values, version)
    _check_authentication(values, version)
    _check_backend(values.get("storage_backend", ""))
    _check_address(values.get("advertise_address", "::"))
    parsed = Flags(**values)
    try:
        parsed.services  # noqa: B018 - raises on an invalid range
    except ValueError as error:
        raise FlagError(str(error)) from error
    return parsed


def _check_switches(values: Mapping[str, Any], version: Release) -> None:
    """Refuses feature gates and API versions that the version does not know."""
    gates = values.get("feature_gates", ())
    try:
        features.switched(gates, version)
    except features.GateError as error:
        raise _invalid("feature-gates", ",".join(gates), str(error)) from error
    try:
        runtimeconfig.parse(values.get("runtime_config", ()), version)
    except runtimeconfig.ConfigError as error:
        raise FlagError(str(error)) from error


def _check_authentication(values: Mapping[str, Any], version: Release) -> None:
    """Refuses flags for what the authentication configuration file sets."""
    text = values.get("authentication_config", NO_FILE)
    if not text.name:
        return
    gate = "StructuredAuthenticationConfiguration"
    if not version.has(gate) and f"{gate}=true" not in values.get("feature_gates", ()):
        raise FlagError(
            "set --feature-gates=StructuredAuthenticationConfiguration=true to use "
            "authentication-config file"
        )
    if any(name.startswith("oidc_") for name in values):
        raise FlagError("authentication-config file and oidc-* flags are mutually exclusive")
    if "anonymous_auth" in values:
        from apiserver_app.auth.authn import config as authentication

        try:
            anonymous = authentication.load(text, version).get("anonymous")
        except ValueError as error:
            raise FlagError(str(error)) from error
        if anonymous is not None:
            raise FlagError(
                "anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is "
                "configured in authentication configuration file"
            )


def _check_address(text: str) -> None:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        reason = f"failed to parse IP: {_quoted(text)}"
        raise _invalid("advertise-address", text, reason) from None


def _check_backend(name: str) -> None:
    """Models staging/src/k8s.io/apiserver/pkg/storage/storagebackend/factory/factory.go."""
    if name == "etcd2":
        raise FlagError("etcd2 is no longer a supported storage backend")
    if name not in ("", "etcd3"):
        raise FlagError(f"unknown storage type: {name}")


def _value(name: str, kind: str, text: str | None, read: Callable[[str], str]) -> Any:
    if kind == "bool":
        if text in (None, "true", "1", "True"):
            return True
        if text in ("false", "0", "False"):
            return False
        raise _invalid(name, text, "not a boolean")
    if text is None:
        raise FlagError(f"flag needs an argument: --{name}")
    if kind == "AdmissionText":
        return _admission(text, read)
    if kind in ("FileText", "KubeconfigText", "ConfigText"):
        return _file(name, kind, text, read)
    if kind == "int":
        if not re.fullmatch(r"-?\d+", text):
            raise _invalid(name, text, "not a whole number")
        return int(text)
    if kind == "float":
        try:
            return goduration.parse(text) / goduration.SECOND
        except goduration.DurationError as error:
            raise _invalid(name, text, str(error)) from None
    if kind.startswith("tuple"):
        return tuple(part for part in text.split(",") if part)
    return text


def reread(name: str, before: FileText, read: Callable[[str], str]) -> FileText:
    """Reads a named file again. FlagError when it cannot be read."""
    return _file(name, type(before).__name__, before.name, read)


def _file(name: str, kind: str, path: str, read: Callable[[str], str]) -> FileText:
    if not path:
        return NO_FILE
    try:
        content: FileText
        if kind == "KubeconfigText":
            content = KubeconfigText(kubeconfigs.inlined(read(path), path, read))
        elif kind == "ConfigText":
            content = config_text = ConfigText(read(path))
            config_text.files = {
                kubeconfig: kubeconfigs.inlined(read(kubeconfig), kubeconfig, read)
                for kubeconfig in kubeconfigs.named(config_text)
            }
        else:
            content = FileText(read(path))
    except OSError as error:
        raise FlagError(f"--{name}: open {error.filename or path}: {error.strerror}") from error
    except ValueError as error:
        raise FlagError(f"--{name}: {error}") from error
    content.name = path
    return content


def _admission(path: str, read: Callable[[str], str]) -> AdmissionText:
    try:
        content = AdmissionText(config.inlined(read(path), path, read))
    except OSError as error:
        reason = f"open {error.filename or path}: {error.strerror}"
        raise FlagError(
            "failed to read plugin config: unable to read admission control configuration from "
            f"{_quoted(path)} [{reason}]"
        ) from error
    except config.UnreadableError as error:
        raise FlagError(str(error)) from error
    content.name = path
    return content


def _invalid(name: str, text: str | None, reason: str) -> FlagError:
    return FlagError(f'invalid argument {_quoted(text or "")} for "--{name}" flag: {reason}')


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'
