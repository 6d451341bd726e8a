"""What must hold of a definition's versions: schemas, columns, subresources, selectable fields,
warnings.

What all versions say alike the server keeps once, at the top, and finds it wrong there: nearly
always `spec.validation`, where the client wrote `spec.versions[0].schema`.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/
validation.go and pkg/apis/apiextensions/v1/conversion.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.apiextensions.definition import schemarules
from apiserver_app.apiextensions.schema import fieldpaths, structural
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.releases import Release

SELECTABLE_MAX = 8
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = (
    "byte", "date", "date-time", "double", "float", "int32", "int64", "password",
)  # fmt: skip
_SHARED = ("subresources", "schema", "additionalPrinterColumns", "selectableFields")

Found = list[FieldError]
Version = Mapping[str, Any]

_NOT_HERE = "selectableFields may only be set when version.schema.openAPIV3Schema is not included"
_NOT_AT_TOP = "selectableFields may only be set when validations.schema is included"


class Shared:
    """The versions of a definition as the server keeps them."""

    def __init__(self, given: Sequence[Version], release: Release, unchanged: set[str]) -> None:
        """`release` is the version of Kubernetes; the schemas of versions that are `unchanged`
        are stored already."""
        self._release = release
        self._unchanged = unchanged
        self.top: dict[str, Any] = {}
        for name in _SHARED:
            said = [one.get(name) if one.get(name) != [] else None for one in given]
            if said and all(one == said[0] for one in said):
                self.top[name] = said[0]
        self.versions = [
            {name: value for name, value in one.items() if name not in self.top} for one in given
        ]
        self._first = given[0].get("name") or "" if given else ""
        self._statuses = [_has_status(one) for one in given]

    def missing(self, found: Found) -> None:
        """Every version needs a schema."""
        if _schema(self.top) is not None:
            return
        for index, version in enumerate(self.versions):
            if _schema(version) is None:
                at = f"spec.versions[{index}].schema.openAPIV3Schema"
                found.append(errors.required(at, "schemas are required"))

    def version(self, index: int, found: Found) -> None:
        """What is wrong with one version."""
        version, path = self.versions[index], f"spec.versions[{index}]"
        _warning(version, f"{path}.deprecationWarning", found)
        unchanged = version.get("name") in self._unchanged
        self._schema(version, f"{path}.schema", self._statuses[index], unchanged, found)
        _parts(version, path, found)
        if version.get("selectableFields"):
            _selectable(version["selectableFields"], version, path, _NOT_HERE, found)

    def whole(self, found: Found) -> None:
        """What is wrong with all of them alike."""
        unchanged = self._first in self._unchanged
        self._schema(self.top, "spec.validation", any(self._statuses), unchanged, found)
        _parts(self.top, "spec", found)
        if self.top.get("selectableFields"):
            _selectable(self.top["selectableFields"], self.top, "spec", _NOT_AT_TOP, found)

    def _schema(
        self, holder: Version, path: str, has_status: bool, unchanged: bool, found: Found
    ) -> None:
        schema = _schema(holder)
        if schema is not None:
            found += schemarules.validate(
                schema, path, has_status=has_status, version=self._release, unchanged=unchanged
            )


def has_default(version: Version) -> bool:
    """Whether its schema fills something in."""
    return structural.has_default(_schema(version) or {})


def _schema(holder: Version) -> Any:
    return (holder.get("schema") or {}).get("openAPIV3Schema")


def _has_status(version: Version) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


def _parts(holder: Version, path: str, found: Found) -> None:
    scale = (holder.get("subresources") or {}).get("scale")
    if scale is not None:
        _scale(scale, f"{path}.subresources", found)
    for index, column in enumerate(holder.get("additionalPrinterColumns") or ()):
        _column(column, f"{path}.additionalPrinterColumns[{index}]", found)


def _warning(version: Version, at: str, found: Found) -> None:
    text = version.get("deprecationWarning")
    if text is None:
        return
    if not version.get("deprecated"):
        found.append(errors.invalid_value(at, text, "can only be set for deprecated versions"))
        return
    if len(text.encode()) > 256:
        found.append(errors.invalid_value(at, text, "must be <= 256 characters long"))
    if not text:
        found.append(errors.invalid_value(at, text, "must not be an empty string"))
    for index, char in enumerate(text):
        if not char.isprintable():
            why = (
                "must only contain printable UTF-8 characters; non-printable character found at "
                f"index {len(text[:index].encode())}"
            )
            found.append(errors.invalid_value(at, text, why))
            break


def _scale(scale: Mapping[str, Any], path: str, found: Found) -> None:
    for name, roots in (
        ("specReplicasPath", (".spec.",)),
        ("statusReplicasPath", (".status.",)),
        ("labelSelectorPath", (".spec.", ".status.")),
    ):
        value, at = scale.get(name) or "", f"{path}.scale.{name}"
        if not value:
            if name != "labelSelectorPath":
                found.append(errors.required(at))
        elif not value.startswith("."):
            why = "must be a simple json path starting with ."
            found.append(errors.invalid_value(at, value, why))
        elif not value.startswith(roots):
            where = "either .spec or .status" if len(roots) > 1 else roots[0][:-1]
            why = f"should be a json path under {where}"
            found.append(errors.invalid_value(at, value, why))


def _column(column: Mapping[str, Any], path: str, found: Found) -> None:
    if not column.get("name"):
        found.append(errors.required(f"{path}.name"))
    type_, form = column.get("type") or "", column.get("format") or ""
    types = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not type_:
        found.append(errors.required(f"{path}.type", types))
    elif type_ not in _COLUMN_TYPES:
        found.append(errors.invalid_value(f"{path}.type", type_, types))
    if form and form not in _COLUMN_FORMATS:
        formats = f"must be one of {','.join(_COLUMN_FORMATS)}"
        found.append(errors.invalid_value(f"{path}.format", form, formats))
    where = column.get("jsonPath") or ""
    if not where:
        found.append(errors.required(f"{path}.JSONPath"))
    elif not where.startswith("."):
        why = "must be a simple json path starting with ."
        found.append(errors.invalid_value(f"{path}.JSONPath", where, why))


def _selectable(
    fields: Sequence[Mapping[str, Any]], holder: Version, path: str, missing: str, found: Found
) -> None:
    at_schema, path = f"{path}.schema.openAPIV3Schema", f"{path}.selectableFields"
    if holder.get("schema") is None:
        found.append(errors.invalid_value(path, "", missing))
        return
    try:
        node = structural.build(_schema(holder) or {})
    except structural.NotStructural as error:
        found.append(errors.invalid_value(at_schema, "", str(error)))
        return
    seen: set[str] = set()
    for index, one in enumerate(fields):
        text, at = one.get("jsonPath") or "", f"{path}[{index}].jsonPath"
        if not text:
            found.append(errors.required(at))
            continue
        led = fieldpaths.resolve(text, node, arrays=False)
        if led.node is None:
            why = f"is an invalid path: {led.why}"
            found.append(errors.invalid_value(at, text, why))
            continue
        if led.path.split(".")[0] == "metadata":
            why = "must not point to fields in metadata"
            found.append(errors.invalid_value(at, text, why))
        if led.node.type not in ("string", "boolean", "integer"):
            why = (
                "must point to a field of type string, boolean or integer. Enum string fields and "
                "strings with formats are allowed."
            )
            found.append(errors.invalid_value(at, text, why))
        if led.path in seen:
            found.append(errors.duplicate(at, text))
        seen.add(led.path)
    if len(seen) > SELECTABLE_MAX:
        found.append(errors.too_many(path, len(seen), SELECTABLE_MAX))
