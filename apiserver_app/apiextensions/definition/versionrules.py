"""Validation of a definition's versions: schemas, columns, subresources, selectable fields,
warnings.

The internal type hoists fields that are equal in all versions to the top, and errors name that
path: usually `spec.validation`, where the client wrote `spec.versions[0].schema`.

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
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SHARED = ("subresources", "schema", "additionalPrinterColumns", "selectableFields")

Errors = list[FieldError]
Version = Mapping[str, Any]

_NOT_HERE = "selectableFields may only be set when version.schema.openAPIV3Schema is not included"
_NOT_AT_TOP = "selectableFields may only be set when validations.schema is included"


class Shared:
    """The versions of a definition in the internal type."""

    def __init__(self, versions: Sequence[Version], release: Release, unchanged: set[str]) -> None:
        """`release` is the Kubernetes version; the schemas of `unchanged` versions are already
        stored."""
        self._release = release
        self._unchanged = unchanged
        self.top: dict[str, Any] = {}
        for name in _SHARED:
            values = [
                version.get(name) if version.get(name) != [] else None for version in versions
            ]
            if values and all(version == values[0] for version in values):
                self.top[name] = values[0]
        self.versions = [
            {name: value for name, value in version.items() if name not in self.top}
            for version in versions
        ]
        self._first = versions[0].get("name") or "" if versions else ""
        self._statuses = [_has_status(version) for version in versions]

    def missing(self, errs: Errors) -> None:
        """Every version needs a schema."""
        if _schema(self.top) is not None:
            return
        for index, version in enumerate(self.versions):
            if _schema(version) is None:
                at = f"spec.versions[{index}].schema.openAPIV3Schema"
                late = self._release.has("SchemasRequiredReworded")
                errs.append(errors.required(at, "" if late else "schemas are required"))

    def version(self, index: int, errs: Errors) -> None:
        """Appends the errors of one version."""
        version, path = self.versions[index], f"spec.versions[{index}]"
        _warning(version, f"{path}.deprecationWarning", errs)
        unchanged = version.get("name") in self._unchanged
        self._schema(version, f"{path}.schema", self._statuses[index], unchanged, errs)
        _parts(version, path, errs)
        if version.get("selectableFields"):
            _selectable(version["selectableFields"], version, path, _NOT_HERE, errs)

    def whole(self, errs: Errors) -> None:
        """Appends the errors of the fields that all versions share."""
        unchanged = self._first in self._unchanged
        self._schema(self.top, "spec.validation", any(self._statuses), unchanged, errs)
        _parts(self.top, "spec", errs)
        if self.top.get("selectableFields"):
            _selectable(self.top["selectableFields"], self.top, "spec", _NOT_AT_TOP, errs)

    def _schema(
        self, holder: Version, path: str, has_status: bool, unchanged: bool, errs: Errors
    ) -> None:
        schema = _schema(holder)
        if schema is not None:
            errs += schemarules.validate(
                schema, path, has_status=has_status, version=self._release, unchanged=unchanged
            )


def has_default(version: Version) -> bool:
    """Whether its schema has a default."""
    return structural.has_default(_schema(version) or {})


def _schema(holder: Version) -> Any:
    return (holder.get("schema") or {}).get("openAPIV3Schema")


def _has_status(version: Version) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


def _parts(holder: Version, path: str, errs: Errors) -> None:
    scale = (holder.get("subresources") or {}).get("scale")
    if scale is not None:
        _scale(scale, f"{path}.subresources", errs)
    for index, column in enumerate(holder.get("additionalPrinterColumns") or ()):
        _column(column, f"{path}.additionalPrinterColumns[{index}]", errs)


def _warning(version: Version, at: str, errs: Errors) -> None:
    text = version.get("deprecationWarning")
    if text is None:
        return
    if not version.get("deprecated"):
        errs.append(errors.invalid_value(at, text, "can only be set for deprecated versions"))
        return
    if len(text.encode()) > 256:
        errs.append(errors.invalid_value(at, text, "must be <= 256 characters long"))
    if not text:
        errs.append(errors.invalid_value(at, text, "must not be an empty string"))
    for index, char in enumerate(text):
        if not char.isprintable():
            message = (
                "must only contain printable UTF-8 characters; non-printable character found at "
                f"index {len(text[:index].encode())}"
            )
            errs.append(errors.invalid_value(at, text, message))
            break


def _scale(scale: Mapping[str, Any], path: str, errs: Errors) -> None:
    for name, roots in (
        ("specReplicasPath", (".spec.",)),
        ("statusReplicasPath", (".status.",)),
        ("labelSelectorPath", (".spec.", ".status.")),
    ):
        value, at = scale.get(name) or "", f"{path}.scale.{name}"
        if not value:
            if name != "labelSelectorPath":
                errs.append(errors.required(at))
        elif not value.startswith("."):
            message = "must be a simple json path starting with ."
            errs.append(errors.invalid_value(at, value, message))
        elif not value.startswith(roots):
            where = "either .spec or .status" if len(roots) > 1 else roots[0][:-1]
            message = f"should be a json path under {where}"
            errs.append(errors.invalid_value(at, value, message))


def _column(column: Mapping[str, Any], path: str, errs: Errors) -> None:
    if not column.get("name"):
        errs.append(errors.required(f"{path}.name"))
    type_, form = column.get("type") or "", column.get("format") or ""
    types = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not type_:
        errs.append(errors.required(f"{path}.type", types))
    elif type_ not in _COLUMN_TYPES:
        errs.append(errors.invalid_value(f"{path}.type", type_, types))
    if form and form not in _COLUMN_FORMATS:
        formats = f"must be one of {','.join(_COLUMN_FORMATS)}"
        errs.append(errors.invalid_value(f"{path}.format", form, formats))
    where = column.get("jsonPath") or ""
    if not where:
        errs.append(errors.required(f"{path}.JSONPath"))
    elif not where.startswith("."):
        message = "must be a simple json path starting with ."
        errs.append(errors.invalid_value(f"{path}.JSONPath", where, message))


def _selectable(
    fields: Sequence[Mapping[str, Any]], holder: Version, path: str, missing: str, errs: Errors
) -> None:
    at_schema, path = f"{path}.schema.openAPIV3Schema", f"{path}.selectableFields"
    if holder.get("schema") is None:
        errs.append(errors.invalid_value(path, "", missing))
        return
    try:
        node = structural.build(_schema(holder) or {})
    except structural.NotStructural as error:
        errs.append(errors.invalid_value(at_schema, "", str(error)))
        return
    seen: set[str] = set()
    for index, field in enumerate(fields):
        text, at = field.get("jsonPath") or "", f"{path}[{index}].jsonPath"
        if not text:
            errs.append(errors.required(at))
            continue
        target = fieldpaths.resolve(text, node, arrays=False)
        if target.node is None:
            message = f"is an invalid path: {target.why}"
            errs.append(errors.invalid_value(at, text, message))
            continue
        if target.path.split(".")[0] == "metadata":
            message = "must not point to fields in metadata"
            errs.append(errors.invalid_value(at, text, message))
        if target.node.type not in ("string", "boolean", "integer"):
            message = (
                "must point to a field of type string, boolean or integer. Enum string fields and "
                "strings with formats are allowed."
            )
            errs.append(errors.invalid_value(at, text, message))
        if target.path in seen:
            errs.append(errors.duplicate(at, text))
        seen.add(target.path)
    if len(seen) > SELECTABLE_MAX:
        errs.append(errors.too_many(path, len(seen), SELECTABLE_MAX))
