"""Reads --admission-control-config-file: the configurations of plugins.

`inlined` is called where files can be read: what the configuration names by path is put into it,
and so are the kubeconfigs that plugins' own configurations name (under `files`, by their path).
`read` gives the parsed result to the code that builds the plugins.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/config.go.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from apiserver_app.machinery.meta import Object

KIND = "AdmissionConfiguration"
VERSIONS = ("apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1")
# the file may be one of two plugins' configurations, recognized by its kind
_LEGACY = {"imagePolicy": "ImagePolicyWebhook", "podNodeSelectorPluginConfig": "PodNodeSelector"}
_KUBECONFIG = "kubeConfigFile"


class ConfigurationError(ValueError):
    """A plugin's configuration is invalid; the message is upstream's."""

    def __init__(self, plugin: str, reason: str) -> None:
        super().__init__(f'couldn\'t init admission plugin "{plugin}": {reason}')


class UnreadableError(ValueError):
    """The file itself is no configuration."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"failed to read plugin config: {reason}")


class Configuration:
    """Each plugin's configuration. `files` has the texts of the kubeconfigs they name."""

    def __init__(
        self, plugins: Mapping[str, Object] | None = None, files: Mapping[str, str] | None = None
    ) -> None:
        self._plugins = plugins or {}
        self.files = files or {}

    def of(self, plugin: str) -> Object:
        """Returns the plugin's configuration; empty when it has none."""
        return self._plugins.get(plugin, {})


def inlined(text: str, path: str, read: Callable[[str], str]) -> str:
    """Returns the configuration as JSON with the files it names inlined. Raises OSError from
    `read`."""
    document = _parsed(text)
    base = posixpath.dirname(path)
    if _is_legacy(document):
        plugins = [
            {"name": name, "configuration": document}
            for key, name in _LEGACY.items()
            if key in document
        ]
        document = {"apiVersion": VERSIONS[0], "kind": KIND, "plugins": plugins}
    files: dict[str, str] = {}
    for plugin in document.get("plugins") or ():
        if plugin.get("configuration") is None and plugin.get("path"):
            own = posixpath.join(base, plugin["path"])
            plugin["configuration"] = _parsed(read(own))
        for name in _kubeconfigs(plugin.get("configuration")):
            files[name] = read(posixpath.join(base, name))
    return orjson.dumps({**document, "files": files}).decode()


def read(text: str) -> Configuration:
    """Parses the output of `inlined`; an empty text configures nothing."""
    if not text:
        return Configuration()
    document = _parsed(text)
    version, kind = document.get("apiVersion", ""), document.get("kind", "")
    if not kind:
        raise UnreadableError(f"Object 'Kind' is missing in '{text.strip()}'")
    if kind != KIND or version not in VERSIONS:
        raise UnreadableError(
            f'no kind "{kind}" is registered for version "{version}" in scheme '
            '"k8s.io/apiserver/pkg/server/options/admission.go:54"'
        )
    configurations: dict[str, Object] = {}
    for plugin in document.get("plugins") or ():
        configuration = plugin.get("configuration") or {}
        if not isinstance(configuration, dict):
            raise UnreadableError(f"the configuration of {plugin.get('name', '')} is no object")
        configurations.setdefault(str(plugin.get("name", "")), configuration)
    return Configuration(configurations, document.get("files") or {})


def _is_legacy(document: Object) -> bool:
    return not document.get("kind") and any(key in document for key in _LEGACY)


def _parsed(text: str) -> Object:
    from apiserver_app.machinery.serializer import yamlbody  # only needed with such a file

    try:
        value, _ = yamlbody.load(text.encode())
    except yamlbody.YamlError as error:
        raise UnreadableError(str(error)) from error
    if not isinstance(value, dict):
        raise UnreadableError(f"Object 'Kind' is missing in '{text.strip()}'")
    return value


def _kubeconfigs(configuration: Any) -> Iterable[str]:
    """Yields the kubeconfigs that a plugin's configuration names, at any depth."""
    if not isinstance(configuration, dict):
        return
    for key, value in configuration.items():
        if key == _KUBECONFIG and isinstance(value, str) and value:
            yield value
        else:
            yield from _kubeconfigs(value)
