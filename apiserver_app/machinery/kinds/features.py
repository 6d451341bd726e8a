"""Feature gates: which there are in a version, what they are by default, which are switched.

A gate that switches something here stands in SWITCHING, whoever asks for it asks the set that
`switched` gives. The API server library's other gates are known by name: one may be given the value
it has anyway; another value is refused by name, since nothing would come of it.

Models kubernetes staging/src/k8s.io/component-base/featuregate/feature_gate.go,
staging/src/k8s.io/apiserver/pkg/features/kube_features.go and pkg/features/kube_features.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

MUTATING_POLICY = "MutatingAdmissionPolicy"
SPLIT_STREAMS = "PodLogsQuerySplitStreams"
TOPOLOGY_LABELS = "PodTopologyLabelsAdmission"


class Stage(NamedTuple):
    """What a gate is from a minor version on."""

    since: int
    default: bool
    locked: bool = False


class GateError(ValueError):
    """A gate that cannot be set so; upstream's sentence."""


def _off(since: int, on: int = 0, locked: int = 0) -> tuple[Stage, ...]:
    """Off at first, on by default later, perhaps fixed in the end."""
    stages = [Stage(since, False)]
    if on:
        stages.append(Stage(on, True))
    if locked:
        stages.append(Stage(locked, True, locked=True))
    return tuple(stages)


def _on(since: int, *more: Stage) -> tuple[Stage, ...]:
    return (Stage(since, True), *more)


SWITCHING: Mapping[str, tuple[Stage, ...]] = {
    MUTATING_POLICY: _off(32, 36),
    SPLIT_STREAMS: _off(32),
    TOPOLOGY_LABELS: _off(33, 35),
}

# gates of the API server library that switch nothing here
_OTHERS: Mapping[str, tuple[Stage, ...]] = {
    "APIResponseCompression": _off(8, 16),
    "APIServerIdentity": _off(20, 26),
    "APIServingWithRoutine": _off(30),
    "AggregatedDiscoveryRemoveBetaType": (
        Stage(0, False),
        Stage(33, True),
        Stage(35, True, locked=True),
    ),
    "AllowParsingUserUIDFromCertAuth": _on(33),
    "AllowUnsafeMalformedObjectDeletion": _off(32, 37),
    "CBORServingAndStorage": _off(32),
    "ConcurrentWatchObjectDecode": _off(31, 37),
    "ConstrainedImpersonation": _off(35, 36),
    "CoordinatedLeaderElection": _off(31),
    "DeclarativeValidation": _on(33, Stage(36, True, locked=True)),
    "DeclarativeValidationTakeover": (Stage(33, False), Stage(37, False, locked=True)),
    "DetectCacheInconsistency": _on(34),
    "KMSv1": _on(0, Stage(29, False)),
    "ListFromCacheSnapshot": _off(33, 34),
    "OpenAPIEnums": _off(23, 24),
    "RemoteRequestHeaderUID": _off(32, 33),
    "SeparateCacheWatchRPC": _on(28, Stage(33, False), Stage(36, False, locked=True)),
    "SizeBasedListCostEstimate": _on(34),
    "StorageVersionAPI": _off(20),
    "StorageVersionHash": _off(14, 15),
    "TokenRequestServiceAccountUIDValidation": _on(34),
    "UnauthenticatedHTTP2DOSMitigation": _off(25, 29),
    "UnknownVersionInteroperabilityProxy": _off(28, 36),
    "WatchCacheInitializationPostStartHook": _off(31, 36, 37),
    "WatchList": (Stage(27, False), Stage(32, True), Stage(33, False), Stage(34, True)),
}


def switched(pairs: Iterable[str], version: str) -> frozenset[str]:
    """The gates that are on in a version when `Name=true` and the like are said. A later word
    about a gate holds. Raises GateError."""
    minor = int(version.split(".")[1])
    on = {name for name in SWITCHING if _default(SWITCHING[name], minor)}
    for name, wanted in _read(pairs).items():
        stages = SWITCHING.get(name) or _OTHERS.get(name, ())
        stage = _stage(stages, minor)
        if stage is None:
            raise GateError(f"unrecognized feature gate: {name}")
        if stage.locked and wanted != stage.default:
            raise GateError(
                f"cannot set feature gate {name} to {_word(wanted)}, feature is locked to "
                f"{_word(stage.default)}"
            )
        if name in SWITCHING:
            (on.add if wanted else on.discard)(name)
        elif wanted != stage.default:
            raise GateError(f"feature gate {name} switches nothing in a simulated cluster")
    return frozenset(on)


def _read(pairs: Iterable[str]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name, text = name.strip(), text.strip()
        if not equals:
            raise GateError(f"missing bool value for {name}")
        if text not in BOOLEANS:
            why = f'strconv.ParseBool: parsing "{text}": invalid syntax'
            raise GateError(f"invalid value of {name}={text}, err: {why}")
        found[name] = BOOLEANS[text]
    return found


def _stage(stages: tuple[Stage, ...], minor: int) -> Stage | None:
    return next((one for one in reversed(stages) if one.since <= minor), None)


def _default(stages: tuple[Stage, ...], minor: int) -> bool:
    stage = _stage(stages, minor)
    return stage is not None and stage.default


def _word(value: bool) -> str:
    return "true" if value else "false"


# as strconv.ParseBool reads them
BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
