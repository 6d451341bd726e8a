"""Every field that a type has on the wire is known to the schemas, so that none is pruned.

The wire table (`gofields.txt`) is of the newest version. A field that 1.33 does not know came
later: those are listed, and the newest schema knows each of them.
"""

from __future__ import annotations

from apiserver_app.machinery.kinds import kinds, runtimeconfig
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types import gofields, published, scheme

# types that are written as a string, a number or as they came
_SCALARS = (
    "intstr.IntOrString",
    "resource.Quantity",
    "meta.v1.Time",
    "meta.v1.MicroTime",
    "meta.v1.FieldsV1",
    "runtime.RawExtension",
)
_DEVICE = (
    "allowMultipleAllocations bindingConditions bindingFailureConditions bindsToNode "
    "nodeAllocatableResources"
)
_RESULT = "bindingConditions bindingFailureConditions consumedCapacity shareID skipNodeOperations"
_SLICE = "partitionTypeAttribute skipNodeOperations"
_ATTRIBUTE = "bools ints strings versions"
# message -> fields that came after 1.33
_LATER = {
    "apiextensions.v1.CustomResourceDefinitionCondition": "observedGeneration",
    "apiextensions.v1.CustomResourceDefinitionStatus": "observedGeneration",
    "authentication.v1.TokenRequestSpec": "attestations",
    "autoscaling.v2.HorizontalPodAutoscalerCondition": "observedGeneration",
    "batch.v1.JobSpec": "scheduling",
    "core.v1.ClusterTrustBundleProjection": "user",
    "core.v1.ConfigMapVolumeSource": "defaultUser",
    "core.v1.Container": "restartPolicyRules",
    "core.v1.DownwardAPIVolumeFile": "user",
    "core.v1.DownwardAPIVolumeSource": "defaultUser",
    "core.v1.EmptyDirVolumeSource": "mode",
    "core.v1.EnvVarSource": "fileKeyRef",
    "core.v1.EphemeralContainer": "restartPolicyRules",
    "core.v1.GRPCAction": "mode",
    "core.v1.HTTPGetAction": "protocol",
    "core.v1.KeyToPath": "user",
    "core.v1.NodeSpec": "podPreemptionPolicy",
    "core.v1.NodeStatus": "declaredFeatures",
    "core.v1.PersistentVolumeClaimStatus": "healthStatus",
    "core.v1.PodSpec": "evictionResponders hostnameOverride schedulingGroup",
    "core.v1.PodStatus": "allocatedResources extendedResourceClaimStatus "
    "nodeAllocatableResourceClaimStatuses resources volumeHealth",
    "core.v1.ProjectedVolumeSource": "defaultUser",
    "core.v1.ResourceHealth": "message",
    "core.v1.SecretVolumeSource": "defaultUser",
    "core.v1.ServiceAccountTokenProjection": "user",
    "core.v1.VolumeMount": "bindMountOptions",
    "core.v1.VolumeMountStatus": "volumeStatus",
    "core.v1.VolumeProjection": "podCertificate",
    "meta.v1.ListMeta": "shardInfo",
    "resource.v1alpha3.DeviceTaintRule": "status",
    "resource.v1beta1.AllocatedDeviceStatus": "shareID",
    "resource.v1beta1.AllocationResult": "allocationTimestamp",
    "resource.v1beta1.BasicDevice": _DEVICE,
    "resource.v1beta1.DeviceAttribute": _ATTRIBUTE,
    "resource.v1beta1.DeviceCapacity": "requestPolicy",
    "resource.v1beta1.DeviceClassSpec": "extendedResourceName",
    "resource.v1beta1.DeviceConstraint": "distinctAttribute",
    "resource.v1beta1.DeviceRequest": "capacity",
    "resource.v1beta1.DeviceRequestAllocationResult": _RESULT,
    "resource.v1beta1.DeviceSubRequest": "capacity",
    "resource.v1beta1.ResourceSliceSpec": _SLICE,
    "resource.v1beta2.AllocatedDeviceStatus": "shareID",
    "resource.v1beta2.AllocationResult": "allocationTimestamp",
    "resource.v1beta2.Device": _DEVICE,
    "resource.v1beta2.DeviceAttribute": _ATTRIBUTE,
    "resource.v1beta2.DeviceCapacity": "requestPolicy",
    "resource.v1beta2.DeviceClassSpec": "extendedResourceName",
    "resource.v1beta2.DeviceConstraint": "distinctAttribute",
    "resource.v1beta2.DeviceRequestAllocationResult": _RESULT,
    "resource.v1beta2.DeviceSubRequest": "capacity",
    "resource.v1beta2.ExactDeviceRequest": "capacity",
    "resource.v1beta2.ResourceSliceSpec": _SLICE,
    "storage.v1.CSIDriverSpec": "preventPodSchedulingIfMissing serviceAccountTokenInSecrets",
    "storage.v1.CSINode": "status",
}


def _unknown(version: str) -> dict[str, str]:
    """Fields of the wire that the version's schemas do not have, by message."""
    definitions = published.Definitions(Release.parse(version))
    found = {}
    for name in definitions:
        message, schema = gofields.short(name), definitions.get(name)
        if schema is None or message in _SCALARS:
            continue
        missing = {field.name for field in gofields.flat(message)} - set(schema.properties or ())
        if missing:
            found[message] = " ".join(sorted(missing))
    return found


def test_the_newest_schemas_know_every_field_of_the_wire() -> None:
    assert _unknown("1.37") == {}


def test_what_1_33_does_not_know_came_later() -> None:
    assert _unknown("1.33") == _LATER


def test_every_served_kind_has_a_schema_and_fields_on_the_wire() -> None:
    config = runtimeconfig.parse(["api/all=true"], Release(33))
    known = scheme.Types(Release(33))
    for info in kinds.resources(Release(33), config):
        assert known.knows(info.definition), info
        assert gofields.flat(gofields.short(info.definition)), info
