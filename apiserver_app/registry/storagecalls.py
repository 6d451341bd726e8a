"""What each call of the storage interface does inside, step by step, and how it may end.

The code that carries out a call names the end it came to (`about["end"]` of a refusal, the word of
a decision); the steps of that end stand here and go into the trace's start record. A row is the
step's name, its verdict and the key of its words; the first number of an end counts the rows of
`done` that it shares. An end that is not listed is a refusal of the first step that changes
something.

Models kubernetes staging/src/k8s.io/apiserver/pkg/storage/interfaces.go, etcd3/store.go and
pkg/registry/generic/registry/{store,dryrun}.go.
"""

from __future__ import annotations

from apiserver_app.machinery.meta import Object

CREATE, UPDATE, DELETE = "Create", "GuaranteedUpdate", "Delete"
GET, LIST, WATCH = "Get", "GetList", "Watch"
# the calls that write, by what the write records say
OF_WRITE = {"create": CREATE, "update": UPDATE, "delete": DELETE}
# the calls that read, by the verb of the request
OF_READ = {"get": GET, "list": LIST, "watch": WATCH}
# groups whose objects a real cluster stores as JSON, as it does custom resources; all others as
# protobuf
IN_JSON = ("apiextensions.k8s.io", "apiregistration.k8s.io")

_UNWRITTEN = "put skip left"
_DRY_RUN = "DryRunnableStorage skip dryRun"
_INJECTED = "put deny putInjected"
_UNREACHED = "put deny unreached"

DONE: dict[str, tuple[str, ...]] = {
    CREATE: (
        "Versioner allow unversioned",
        "encode allow encode",
        "put change putNew",
        "Get skip readBack",
    ),
    UPDATE: (
        "Get allow read",
        "tryUpdate change tries",
        "encode allow encode",
        "put change putOver",
    ),
    DELETE: ("delete change putDelete",),
}
ENDS: dict[str, dict[str, tuple[int | str, ...]]] = {
    CREATE: {
        "dry run": (0, _DRY_RUN, "Get allow free", _UNWRITTEN, "copyInto allow copied"),
        "versioned": (0, "Versioner deny versioned"),
        "exists": (2, "put deny putStale", "Get allow deleting"),
        "injected": (2, _INJECTED),
        "unreached": (2, _UNREACHED),
    },
    UPDATE: {
        "marked": (1, "tryUpdate change marks", "encode allow encode", "put change putOver"),
        "dry run": (2, _DRY_RUN, _UNWRITTEN),
        "no change": (2, "encode allow encodeSame", "put skip same"),
        "absent": (0, "Get deny absent"),
        "stale": (3, "put deny putStale"),
        "gone": (3, "put deny putGone"),
        "injected": (2, _INJECTED),
        "unreached": (0, "Get deny unreached"),
        "refused": (2, "preconditions deny"),
    },
    DELETE: {
        "dry run": (0, _DRY_RUN, _UNWRITTEN),
        "stale": (0, "delete deny putStale"),
        "gone": (0, "delete deny putGone"),
        "injected": (0, "delete deny putInjected"),
        "unreached": (0, "delete deny unreached"),
    },
}
# what comes before the call that an operation is about, by its verb
BEFORE = {
    "delete": "Get allow",
    "deletecollection": "GetList allow list",
    "list": "Count allow count",
}


def described() -> Object:
    """For the trace's start record."""
    return {
        "writes": OF_WRITE,
        "reads": OF_READ,
        "json": IN_JSON,
        "before": BEFORE,
        "done": DONE,
        "ends": ENDS,
    }
