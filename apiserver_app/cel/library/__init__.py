"""The function libraries. Importing this declares them all.

Models kubernetes staging/src/k8s.io/apiserver/pkg/cel/environment/base.go (which version has what).
"""

from apiserver_app.cel.library import authz, core, formats, formatting, kube, lists, net, strings

__all__ = ["authz", "core", "formats", "formatting", "kube", "lists", "net", "strings"]
