"""The sentences that upstream answers with 500: the error of a client that no code of it makes a
Status of. Each was seen from a kube-apiserver 1.33.4, or is read off the file. Any other 500 is a
defect here.
"""

from __future__ import annotations

import json
import re

# by the file whose error it is, of kubernetes/kubernetes or its staging/src/k8s.io
SENTENCES = {
    "apimachinery/pkg/util/managedfields/internal/structuredmerge.go": (
        r"failed to create typed patch object \([^;]*; [^;]*, Kind=\w*\): .+",
        r"failed to convert new object \([^;]*; [^;]*, Kind=\w*\) to proper version: unable to "
        r"convert unstructured object to \S*, Kind=\w+: .+",
    ),
    "apimachinery/pkg/util/managedfields/internal/skipnonapplied.go": (
        r"failed to create manager for existing fields: failed to convert new object "
        r"\([^;]*; [^;]*, Kind=\w*\) to smd typed: .+",
    ),
    "apimachinery/pkg/util/strategicpatch/patch.go": (
        r"unknown patch type: .* in map: map\[.*\]",
        r"map: map\[.*\] does not contain declared merge key: \w+",
        r"list element types are not identical: \[.*\]",
        r"expected a (\[\]interface \{\}|map\[string\]interface \{\}), "
        r"but received a ([a-z0-9]+|%!s\(<nil>\)|\[\]interface \{\}|map\[string\]interface \{\})",
        r"The order in patch list:\n\[.*\]\n doesn't match \$setElementOrder list:\n\[.*\]\n",
    ),
    "apimachinery/third_party/forked/golang/json/fields.go": (
        r'unable to find api field in struct \w+ for the json field ".*"',
    ),
    "pkg/registry/core/pod/storage/storage.go": (
        r"(\[target\.kind: .*, target\.name: Required value\]|target\.(kind|name): .+)",
    ),
    "apiserver/pkg/storage/etcd3/store.go": (
        r"resourceVersion should not be set on objects to be created",
    ),
    "apiserver/pkg/storage/api_object_versioner.go": (
        r'resourceVersion: Invalid value: ".*": strconv\.ParseUint: parsing ".*": '
        r"(invalid syntax|value out of range)",
    ),
    "pkg/registry/core/service/storage/alloc.go": (r"duplicate nodePort: \{(TCP|UDP|SCTP)? \d+\}",),
    "apiserver/pkg/endpoints/request/requestinfo.go": (
        r'Internal Server Error: "(.*)": failed to create RequestInfo: unable to determine kind '
        r"and namespace from url, \1\n",
    ),
}
# of the options in the body of a DELETE: apiserver/pkg/endpoints/handlers/delete.go
OPTIONS = (
    r"couldn't get version/kind; json parse error: .+",
    r"json: cannot unmarshal .+ into Go (struct field|value of type) .+",
    r'no kind ".*" is registered for version ".*" in scheme "pkg/runtime/scheme.go:110"',
    r"unexpected GroupVersion string: .+/.*/.*",
    r"yaml: .+",
    r"provided data does not appear to be a protobuf message, expected prefix "
    r"\[107 56 115 0\]",
)
_KNOWN = [one for group in SENTENCES.values() for one in group]


def is_upstreams(method: str, text: bytes) -> bool:
    """Reports whether upstream answers this body with 500, too. A bug here never passes: its
    status has the reason InternalError."""
    body = text.decode()
    if body.startswith("{"):
        status = json.loads(body)
        if status["kind"] != "Status" or "reason" in status or "details" in status:
            return False
        body = status["message"]
    known = [*_KNOWN, *OPTIONS] if method == "DELETE" else _KNOWN
    return any(re.fullmatch(one, body, re.S) for one in known)
