"""Feature gates as --feature-gates switches them; `releases` lists what each is by default.

A gate that switches something here stands in SWITCHING; code asks the set that `switched` returns.
The API server library's other gates may be given the value they have by default; another value is
refused by name, since nothing would come of it.

Models kubernetes staging/src/k8s.io/component-base/featuregate/feature_gate.go,
staging/src/k8s.io/apiserver/pkg/features/kube_features.go and pkg/features/kube_features.go.
"""

from __future__ import annotations

from collections.abc import Iterable

from apiserver_app.machinery import releases
from apiserver_app.machinery.releases import Release

INITIALIZERS = "Initializers"
MUTATING_POLICY = "MutatingAdmissionPolicy"
SPLIT_STREAMS = "PodLogsQuerySplitStreams"
TOPOLOGY_LABELS = "PodTopologyLabelsAdmission"
UNSAFE_DELETION = "AllowUnsafeMalformedObjectDeletion"


class GateError(ValueError):
    """A gate that cannot be set to the value; the message is upstream's."""


SWITCHING = (INITIALIZERS, MUTATING_POLICY, SPLIT_STREAMS, TOPOLOGY_LABELS, UNSAFE_DELETION)


def switched(pairs: Iterable[str], version: Release) -> frozenset[str]:
    """The gates of SWITCHING that are on in a release with flags such as `Name=true`, of which the
    last about a gate counts. Raises GateError."""
    on = {name for name in SWITCHING if version.has(name)}
    for name, value in _read(pairs).items():
        stage = releases.stage(releases.GATES.get(name, ()), version)
        if stage is None:
            raise GateError(f"unrecognized feature gate: {name}")
        if stage.locked and value != stage.default:
            raise GateError(
                f"cannot set feature gate {name} to {_word(value)}, feature is locked to "
                f"{_word(stage.default)}"
            )
        if name in SWITCHING:
            (on.add if value else on.discard)(name)
        elif value != stage.default:
            raise GateError(f"feature gate {name} switches nothing in a simulated cluster")
    return frozenset(on)


def _read(pairs: Iterable[str]) -> dict[str, bool]:
    values: dict[str, bool] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name, text = name.strip(), text.strip()
        if not equals:
            raise GateError(f"missing bool value for {name}")
        if text not in BOOLEANS:
            cause = f'strconv.ParseBool: parsing "{text}": invalid syntax'
            raise GateError(f"invalid value of {name}={text}, err: {cause}")
        values[name] = BOOLEANS[text]
    return values


def _word(value: bool) -> str:
    return "true" if value else "false"


# as strconv.ParseBool reads them
BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
