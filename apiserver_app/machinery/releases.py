"""A release of Kubernetes, and the releases that have each behaviour by default.

A release is parsed once, where a cluster is made. Code asks `release.has("WatchList")`; what stands
here is named after its feature gate where it has one. Kinds have their releases in `kinds.builtin`,
plugins in `admission.plugins`, controllers in `controllers`: each beside what it lists.

Models kubernetes pkg/features/kube_features.go, staging/src/k8s.io/apiserver/pkg/features/
kube_features.go and staging/src/k8s.io/component-base/version.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NamedTuple, Self

import msgspec

_PATCHES = {22: 2}  # 1.22.2 is the release of the articles' session


class Release(msgspec.Struct, frozen=True, order=True):
    """A minor release of Kubernetes 1.x: `Release(33)`, printed as `1.33`."""

    minor: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads `1.33` or `v1.33.1`."""
        return cls(int(text.split(".")[1]))

    def __str__(self) -> str:
        return f"1.{self.minor}"

    @property
    def patched(self) -> str:
        """The patch release that a minor one stands for, such as `1.33.1`."""
        return f"{self}.{_PATCHES.get(self.minor, 1)}"

    def has(self, name: str) -> bool:
        """Whether it has a behaviour by default. Raises KeyError for a name not listed here."""
        return _defaults(self.minor)[name]


class Stage(NamedTuple):
    """What a feature gate is from a minor release on."""

    since: int
    default: bool
    locked: bool = False
    gone: bool = False  # unknown again


class Span(NamedTuple):
    """The minor releases that have a behaviour: the first, and the last."""

    since: int = 0
    until: int = 999

    def includes(self, release: Release) -> bool:
        return self.since <= release.minor <= self.until


def stage(stages: tuple[Stage, ...], release: Release) -> Stage | None:
    """The stage of a gate in a release; None in one before the gate, or after it."""
    last = next((stage for stage in reversed(stages) if stage.since <= release.minor), None)
    return None if last is None or last.gone else last


@functools.cache
def _defaults(minor: int) -> dict[str, bool]:
    release = Release(minor)
    states = {name: window.includes(release) for name, window in BEHAVIOURS.items()}
    for name, stages in GATES.items():
        now = stage(stages, release)
        states[name] = now is not None and now.default
    return states


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


ALWAYS, DEFAULT = Release(0), Release(33)
NOT_YET = Span(1000)

# feature gates that --feature-gates may name
GATES: Mapping[str, tuple[Stage, ...]] = {
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
    "Initializers": (Stage(7, False), Stage(14, False, gone=True)),
    "KMSv1": _on(0, Stage(29, False)),
    "ListFromCacheSnapshot": _off(33, 34),
    "MutatingAdmissionPolicy": _off(32, 36),
    "OpenAPIEnums": _off(23, 24),
    "PodLogsQuerySplitStreams": _off(32),
    "PodTopologyLabelsAdmission": _off(33, 35),
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

# what cannot be switched here: by upstream's feature gate if it has one, else in our words
BEHAVIOURS: Mapping[str, Span] = {
    # the API server
    "AnonymousAuthConfigurableEndpoints": Span(32),
    "AuthorizePodWebsocketUpgradeCreatePermission": Span(35),
    "ApplyErrorsAreFormats": Span(until=33),  # values in them are taken for verbs
    "BasicAuthentication": Span(until=18),  # --basic-auth-file
    "ConsistentListFromCache": Span(31),
    "DisableAllocatorDualWrite": Span(34),  # no bitmap of addresses beside IPAddress objects
    "AggregatedDiscoveryRemoveBetaType": Span(33),
    "EmbeddedStructsInPaths": Span(35),  # of a decode error
    "EmulationVersion": Span(33),  # in the answer of /version
    "FieldErrorsAsJSON": Span(34),  # bad values in the words of a refusal
    "FieldValidationParameter": Span(23),  # fieldValidation, whatever it does
    "LabelKeysReworded": Span(35),  # and their lengths are in bytes
    "LegacyProvider": Span(27),  # /api is installed as one provider among the others
    "OIDCFlagsTogether": Span(30),  # an issuer needs a client id and the other way round
    "OpenAPIv2ProtobufTyped": Span(27),  # before, Go guesses from the content
    "PortForwardWebsockets": Span(31),
    "ServerSideApply": Span(18),  # managedFields are kept
    "ServerSideFieldValidation": Span(25),  # unknown fields are warned of, or refused
    "StructuredAuthenticationConfiguration": Span(30),
    "TranslateStreamCloseWebsocketRequests": Span(30),
    "ZeroCreationTimestampOmitted": Span(34),  # "creationTimestamp": null is left out
    # kinds
    "AppArmorAnnotations": Span(30, 33),  # of what fields say, for older kubelets
    "AppArmorFields": Span(30),
    "AttachersValidatedOnce": Span(36),
    "ClusterTrustBundleProjection": NOT_YET,
    "ContainerRestartRules": Span(35),
    "ContainerStopSignals": NOT_YET,
    "DRAAdminAccess": Span(34),
    "DRADeviceTaints": Span(36),
    "DRAPrioritizedList": Span(34),
    "DynamicResourceAllocation": Span(34),
    "EndpointsDeprecation": Span(33),
    "EnvFiles": Span(35),
    "GenericWorkload": NOT_YET,
    "HeadlessServiceWarnings": Span(34),
    "HostUsersReworded": Span(34),
    "HostnameOverride": Span(35),
    "ImageVolume": Span(35),
    "IngressClassesReworded": Span(36),
    "JobLabelsWithPrefix": Span(27),  # batch.kubernetes.io/, beside the ones without
    "MatchLabelKeysInPodAffinity": Span(31),
    "MaxReplicasReworded": Span(36),  # of an autoscaler
    "MaxUnavailableStatefulSet": NOT_YET,
    "MetadataInitializers": Span(7, 13),  # objects say who has to initialize them
    "MutableCSINodeAllocatableCount": Span(35),
    "NodeAffinityValuesValidated": Span(33),
    "PodCIDRsToldOnce": Span(33),
    "PodCertificateRequest": NOT_YET,
    "PodLifecycleSleepActionAllowZero": Span(33),
    "PodGeneration": Span(33),  # metadata.generation follows the pod's spec
    "PodLevelResources": Span(34),
    "ProcMountType": Span(33),
    "PodSecurityPolicyRefusalReworded": Span(20),
    "PreferSameTrafficDistribution": Span(34),
    "RelaxedDNSSearchValidation": Span(33),
    "RelaxedServiceNameValidation": Span(36),
    "RestartAllContainersOnContainerExits": Span(36),
    "RevisionHistoryLimitMutable": Span(33),  # of a StatefulSet
    "RuntimeHandlerRequired": Span(36),  # and told so alone
    "SELinuxChangePolicy": Span(33),
    "SchemasRequiredReworded": Span(36),  # of a definition
    "ScaleTargetVersionValidation": Span(34),
    "ServiceAccountNodeAudienceRestriction": Span(32),
    "StatefulSetTemplateValidation": Span(34),
    "StorageClassUpdatesReworded": Span(36),
    "StoredVersionsReworded": Span(33),
    "StrictIPCIDRValidation": Span(36),
    "SupplementalGroupsPolicy": Span(33),
    "TolerationsOfRuntimeClasses": Span(35),  # their paths are right
    "TolerationsKnowComparisons": Span(35),  # and refuse them, as the gate is off
    "UpdatesValidatedOnce": Span(36),  # a cause of a refused update is told less often
    "UserNamespacesSupport": Span(33),
    "VolumeAttributesClass": Span(34),
    "VolumeAttributesClassScope": Span(33),  # of quotas
    # controllers, scheduler, kubelet
    "CollectsAtResourceVersion": Span(34),  # what the garbage collector deletes is as it was read
    "CreatedContainerColon": Span(32),  # in the event
    "EndpointsManagedByLabel": Span(33),
    "InPlacePodVerticalScaling": Span(33),  # requests in a pod's status count
    "JobTerminalConditionDelayed": Span(31),
    "NodeMonitorGracePeriod50s": Span(32),
    "OrderedNamespaceDeletion": Span(33),
    "PodReadyToStartContainersCondition": Span(29),
    "SchedulerPolicy": Span(until=22),  # --policy-config-file
    "PullsSayHowLong": Span(19),  # the event of an image that was pulled
    "PullsSayHowLongTheyWaited": Span(26),
    "PullsSayMilliseconds": Span(28),
    "PullsSayTheSize": Span(30),
    "PortworxMigration": Span(31),
    "RetroactiveDefaultStorageClass": Span(26),
    "SchedulerAsyncPreemption": Span(33),
    "SchedulerPopFromBackoffQ": Span(33),
    "SidecarHostPorts": Span(34),  # the scheduler counts host ports of sidecars
    "UnresolvableWithoutCapacity": Span(34),  # what a node lacks when empty rules preemption out
    "VolumeAffinityReworded": Span(33),
    # kubeadm
    "ControlPlaneRoleOnly": Span(25),  # CoreDNS does not tolerate the taint of role master
    "KubeadmConfigV1beta4": Span(31),
    "RegistryK8sIo": Span(25),  # instead of k8s.gcr.io
    "RoleMasterLabelDropped": Span(24),
    "SuperAdminConf": Span(29),
}
