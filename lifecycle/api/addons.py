"""The add-ons of a cluster: those of kubeadm, and those whose manifests come with the product.

Says what each is made of. Whether it is there is read from the cluster's objects by whoever asks.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apiserver_app.apis import servicenet
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.serializer import yamlbody
from lifecycle import catalog
from lifecycle.api import bridge, manifests
from lifecycle.kubeadm import objects


class AddonObjectSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    api_version = serializers.CharField()
    resource = serializers.CharField(help_text="as in records")
    namespace = serializers.CharField(allow_blank=True)
    name = serializers.CharField()


class AddonSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    manifest = serializers.CharField(allow_blank=True, help_text="empty: kubeadm installs it")
    objects = AddonObjectSerializer(many=True)


class AddonsSerializer(serializers.Serializer[Any]):
    addons = AddonSerializer(many=True)


class Addons(APIView):
    @extend_schema(responses=AddonsSerializer, operation_id="addons")
    def get(self, request: Request) -> Response:
        """The add-ons of a cluster, the manifest that installs each, and the objects in it."""
        return Response({"addons": shown(bridge.release_of(request))})


@lru_cache(maxsize=4)
def shown(version: Release) -> list[dict[str, Any]]:
    """All add-ons, kubeadm's first."""
    made = {
        "coredns": objects.dns(version, servicenet.DEFAULT),
        "kube-proxy": objects.proxy(version, "", ""),
    }
    addons = [
        _addon(name, "", ((namespace, obj) for _, namespace, obj in items), version)
        for name, items in made.items()
    ]
    for name in catalog.ADDONS:
        manifest = catalog.manifest(name)
        documents = yamlbody.load_all(manifest.encode())
        named = ((meta.namespace_of(obj), obj) for obj in documents)
        addons.append(_addon(name, manifest, named, version))
    return addons


def _addon(
    name: str, manifest: str, items: Iterable[tuple[str, Object]], version: Release
) -> dict[str, Any]:
    listed = [_listed(namespace, obj, version) for namespace, obj in items]
    return {"name": name, "manifest": manifest, "objects": listed}


def _listed(namespace: str, obj: Object, version: Release) -> dict[str, str]:
    api_version, kind = obj["apiVersion"], obj["kind"]
    group, _, group_version = api_version.rpartition("/")
    info = manifests.resources(version).by_gvk(group, group_version, kind)
    assert info is not None, f"{version} does not serve {kind}"
    return {
        "kind": kind,
        "api_version": api_version,
        "resource": info.key,
        "namespace": namespace,
        "name": meta.name_of(obj),
    }
