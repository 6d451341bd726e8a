"""What becomes of a name that a pod looks up: the view, what goes into it and what comes out."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from lifecycle.api import bridge
from lifecycle.api.serializers import Input

NAME_CHARACTERS_MAX, NAMESPACE_CHARACTERS_MAX = 253, 63


class NameSerializer(Input):
    """The question of a pod."""

    name = serializers.CharField(max_length=NAME_CHARACTERS_MAX, help_text="e.g. nginx.default.svc")
    namespace = serializers.CharField(
        required=False,
        default="default",
        max_length=NAMESPACE_CHARACTERS_MAX,
        help_text="of the pod that asks",
    )


class DnsRecordSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    type = serializers.CharField(help_text="A or CNAME")
    data = serializers.CharField()


class DnsReplySerializer(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="NOERROR, NXDOMAIN, or nothing: nobody answered")
    why = serializers.CharField(help_text="a word for what decided it, e.g. cluster-ip")
    about = serializers.CharField(help_text="the object that did, e.g. default/nginx")
    records = DnsRecordSerializer(many=True)


class TriedSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="the full one that was asked for")
    domain = serializers.CharField(help_text="of the search list; empty: as it was given")
    reply = DnsReplySerializer()


class DnsEndpointSerializer(serializers.Serializer[Any]):
    address = serializers.CharField()
    port = serializers.IntegerField()
    pod = serializers.CharField(help_text="namespace/name")
    node = serializers.CharField()


class ResolvedSerializer(serializers.Serializer[Any]):
    """What becomes of a name."""

    asked = serializers.CharField()
    namespace = serializers.CharField()
    resolv_conf = serializers.CharField(help_text="what the kubelet writes for such a pod")
    search = serializers.ListField(child=serializers.CharField())
    ndots = serializers.IntegerField()
    name = serializers.CharField(help_text="the full one that has the addresses")
    addresses = serializers.ListField(child=serializers.CharField())
    source = serializers.CharField(help_text="who knew it: dns, hosts, or address, for it is one")
    server = serializers.CharField(help_text="the address that was asked")
    service = serializers.CharField(help_text="whose address that is, e.g. kube-system/kube-dns")
    endpoint = DnsEndpointSerializer(allow_null=True, help_text="who answered behind it")
    fault = serializers.CharField(help_text="why nobody answered")
    tried = TriedSerializer(many=True)
    revision = serializers.IntegerField(help_text="of the store")


class Resolve(APIView):
    @extend_schema(
        parameters=[NameSerializer], responses=ResolvedSerializer, operation_id="cluster_resolve"
    )
    def get(self, request: Request, cluster: str) -> Response:
        """What becomes of a name that a pod of a namespace looks up, by the resolver of containers:
        the names that it tries, who answers, and what. Nothing comes of it in the cluster."""
        given = NameSerializer(data=request.query_params)
        given.is_valid(raise_exception=True)
        about = dict(given.validated_data)
        return Response(bridge.control(request, cluster, "resolve", about)["resolved"])
