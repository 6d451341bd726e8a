"""Parts of the API server as its flags configure them: authorization, admission, audit.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/options (authorization.go, admission.go,
audit.go).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from apiserver_app.admission import config, plugins
from apiserver_app.admission.plugin import Given, Plugin
from apiserver_app.auditing import auditor, policy
from apiserver_app.auditing import backends as auditing
from apiserver_app.auth.authz import config as authz_config
from apiserver_app.egress.outbound import Outbound
from apiserver_app.flags import Flags
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.kinds import features
from apiserver_app.machinery.kinds.kinds import Resources
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.releases import Release


def authorization(given: Flags) -> authz_config.Options:
    return authz_config.Options(
        modes=given.authorization_mode,
        policy=given.authorization_policy_file,
        policy_path=given.authorization_policy_file.name,
        webhook=given.authorization_webhook_config_file,
        webhook_version=given.authorization_webhook_version,
        authorized_seconds=given.authorization_webhook_cache_authorized_ttl,
        unauthorized_seconds=given.authorization_webhook_cache_unauthorized_ttl,
        config=given.authorization_config,
        config_path=given.authorization_config.name,
        kubeconfigs=given.authorization_config.files,
    )


def admission(
    given: Flags,
    resources: Resources,
    on: frozenset[str],
    make_namespace: Callable[[str], Awaitable[None]],
    write_quota: Callable[[Object], Awaitable[None]],
    kernel: Kernel,
) -> tuple[Plugin, ...]:
    """The admission plugins that the version and the flags ask for."""
    version = resources.version
    names = _plugins(given, version, on)

    def resource_of(version: str, kind: str) -> ResourceInfo | None:
        return resources.by_gvk(*version.rpartition("/")[::2], kind)

    return plugins.build(
        Given(
            version=version,
            config=config.read(given.admission_control_config_file),
            resource_of=resource_of,
            make_namespace=make_namespace,
            write_quota=write_quota,
            kernel=kernel,
        ),
        names,
    )


def features_of(given: Flags, version: Release) -> frozenset[str]:
    """The feature gates that are on. The plugin Initializers switches its own on, as upstream."""
    on = features.switched(given.feature_gates, version)
    has_plugin = "Initializers" in _plugins(given, version, on)
    return on | {features.INITIALIZERS} if has_plugin else on


def _plugins(given: Flags, version: Release, on: frozenset[str]) -> tuple[str, ...]:
    """The names of the admission plugins that run."""
    only = given.admission_control or None
    enable = given.enable_admission_plugins if only is None else ()
    return plugins.enabled(version, enable, given.disable_admission_plugins, only, on)


def audit(
    given: Flags, write: Callable[[bytes], None], outbound: Outbound, kernel: Kernel, probe: Probe
) -> auditor.Auditor | None:
    """`write` takes the lines of the log. Without a policy nothing is logged, as upstream."""
    text = given.audit_policy_file
    auditing.check(given)
    if not text.name:
        return None
    backends: list[auditing.Backend] = []
    if given.audit_log_path:
        size = given.audit_log_truncate_max_event_size
        cut = auditing.Truncation(size if given.audit_log_truncate_enabled else 0)
        backends.append(auditing.Log(write, given.audit_log_format, cut))
    if given.audit_webhook_config_file:
        from apiserver_app.auditing import webhook

        backends.append(webhook.Webhook(webhook.settings_of(given), outbound.call, kernel, probe))
    return auditor.Auditor(policy.Policy(text, text.name), backends)
