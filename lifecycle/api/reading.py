"""`kubectl get` on the page: real requests of somebody of the cast, printed as kubectl prints them.

The columns are the API server's. Custom resources are found by discovery, as kubectl finds all.

Models kubernetes staging/src/k8s.io/kubectl/pkg/cmd/get/get.go and
staging/src/k8s.io/cli-runtime/pkg/printers/tableprinter.go.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apiserver_app.machinery import meta
from apiserver_app.machinery.releases import Release
from lifecycle.api import acting, bridge, manifests, serializers

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
CELL_MIN, PADDING = 6, 3  # of a column, as kubectl has them


class Type(NamedTuple):
    """What a word of the line stands for."""

    group: str
    version: str
    plural: str
    singular: str
    namespaced: bool

    @property
    def root(self) -> str:
        return meta.api_root(meta.group_version(self.group, self.version))

    @property
    def prefix(self) -> str:
        """What stands before a name where there are several types."""
        return f"{self.singular}.{self.group}/" if self.group else f"{self.singular}/"


class Refused(Exception):
    """The line that kubectl prints, and asks for nothing more."""


class Get(APIView):
    @extend_schema(
        request=serializers.GetSerializer,
        parameters=[acting.AS],
        responses=serializers.LinesSerializer,
        operation_id="cluster_get",
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Read objects by real requests of somebody of the cast, and print them as a table."""
        given = serializers.GetSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        asked = _Asked(request, cluster, given.validated_data)
        try:
            return Response({"lines": list(asked.lines())})
        except Refused as refused:
            return Response({"lines": [_line(str(refused), failed=True)]})


class _Asked:
    """One line."""

    def __init__(self, request: Request, cluster: str, sent: Mapping[str, Any]) -> None:
        self._request, self._cluster, self._sent = request, cluster, sent
        self._everywhere = sent["all_namespaces"]
        self._namespace = sent["namespace"] or acting.actor_of(request).namespace

    def lines(self) -> Iterator[dict[str, Any]]:
        types = [one for word in self._sent["types"] for one in self._types(word)]
        printed = False
        for type_ in types:
            tables, errors = self._tables(type_)
            text = self._text(type_, tables, len(types) > 1)
            if text:
                yield _line(("\n" if printed else "") + text, table=True)
            printed = printed or bool(text or errors)
            yield from (_line(error, failed=True) for error in errors)
        if not printed and self._sent["output"] != "name":
            is_within = not self._everywhere and any(one.namespaced for one in types)
            where = f" in {self._namespace} namespace." if is_within else ""
            yield _line(f"No resources found{where}")

    def _types(self, word: str) -> list[Type]:
        named, category = _named(word, _built_in(bridge.release_of(self._request)))
        if not named:
            named, more = _named(word, self._discovered())
            category += [one for one in more if one not in category]
        found = [named] if named else category
        if not found:
            raise Refused(f'error: the server doesn\'t have a resource type "{word}"')
        return found

    def _discovered(self) -> Iterator[tuple[Type, set[str], set[str]]]:
        status, answer = self._ask("/apis", DISCOVERY)
        for group in answer.get("items", ()) if status < 400 else ():
            version = group["versions"][0]
            for one in version.get("resources", ()):
                singular = one.get("singularResource") or one["responseKind"]["kind"].lower()
                name, plural = group["metadata"]["name"], one["resource"]
                type_ = Type(
                    name, version["version"], plural, singular, one["scope"] == "Namespaced"
                )
                names = {plural, singular, *one.get("shortNames", ())}
                yield type_, names, set(one.get("categories", ()))

    def _tables(self, type_: Type) -> tuple[list[dict[str, Any]], list[str]]:
        is_within = type_.namespaced and not self._everywhere
        scope = f"/namespaces/{quote(self._namespace, safe='')}" if is_within else ""
        selector = self._sent["selector"]
        query = urlencode({"labelSelector": selector}) if selector else "limit=500"
        tables, errors = [], []
        for name in self._sent["names"] or [""]:
            path = f"{type_.root}{scope}/{type_.plural}"
            path += f"/{quote(name, safe='')}" if name else ""
            status, answer = self._ask(path, TABLE, "" if name else query)
            if status < 400:
                tables.append(answer)
            else:
                errors.append(_refusal(type_, answer, status, "" if name else selector, name))
        return tables, errors

    def _ask(self, path: str, accept: str, query: str = "") -> tuple[int, dict[str, Any]]:
        reply = acting.read(self._request, self._cluster, path, query, accept)
        try:
            return reply.status, json.loads(reply.body)
        except ValueError:
            return reply.status, {"message": reply.body.decode(errors="replace").strip()}

    def _text(self, type_: Type, tables: list[dict[str, Any]], several: bool) -> str:
        rows = [row for table in tables for row in table.get("rows") or ()]
        if not rows:
            return ""
        prefix = type_.prefix if several else ""
        if self._sent["output"] == "name":
            return "\n".join(type_.prefix + _metadata(row)["name"] for row in rows)
        is_wide = self._sent["output"] == "wide"
        columns = tables[0]["columnDefinitions"]
        shown = [at for at, one in enumerate(columns) if is_wide or not one["priority"]]
        heads = [columns[at]["name"].upper() for at in shown]
        cells = [[_cell(row["cells"][at]) for at in shown] for row in rows]
        for row in cells:
            row[0] = prefix + row[0]
        if self._everywhere and type_.namespaced:
            heads.insert(0, "NAMESPACE")
            for row, line in zip(rows, cells, strict=True):
                line.insert(0, _metadata(row).get("namespace", ""))
        return _aligned([heads, *cells])


def _built_in(version: Release) -> Iterator[tuple[Type, set[str], set[str]]]:
    for info in manifests.resources(version).by_key.values():
        if info.is_hidden or "get" not in info.verbs:
            continue
        singular = info.singular or info.kind.lower()
        type_ = Type(info.group, info.version, info.plural, singular, info.namespaced)
        yield type_, {info.plural, singular, *info.short_names}, set(info.categories)


def _named(
    word: str, known: Iterable[tuple[Type, set[str], set[str]]]
) -> tuple[Type | None, list[Type]]:
    """The type of that name, with or without its group, and all of a category of that name."""
    name, _, group = word.lower().partition(".")
    category: list[Type] = []
    for type_, names, categories in known:
        if name in names and group in ("", type_.group, f"{type_.version}.{type_.group}"):
            return type_, category
        if word in categories:
            category.append(type_)
    return None, category


def _refusal(type_: Type, answer: Mapping[str, Any], status: int, selector: str, name: str) -> str:
    reason, message = answer.get("reason", ""), str(answer.get("message", status))
    if not name and reason in ("BadRequest", "NotFound", "MethodNotAllowed"):
        what = f'"{type_.group}/{type_.version}, Resource={type_.plural}"'
        which = f' that match label selector "{selector}", field selector ""' if selector else ""
        message = f"Unable to {'find' if selector else 'list'} {what}{which}: {message}"
    return f"Error from server{f' ({reason})' if reason else ''}: {message}"


def _metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    return dict((row.get("object") or {}).get("metadata") or {})


def _cell(value: Any) -> str:
    return "<none>" if value is None else str(value).replace("\n", "\\n")


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(CELL_MIN, max(map(len, column)) + PADDING) for column in zip(*rows, strict=True)]
    return "\n".join(
        "".join(cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)) + row[-1]
        for row in rows
    )


def _line(text: str, *, failed: bool = False, table: bool = False) -> dict[str, Any]:
    return {"text": text, "failed": failed, "table": table}
