"""Go types beyond both tables: pointers, values, zero values written, inlined structs.

Used by `extract` only. Written from knowledge of staging/src/k8s.io/api/*/v1/types.go; where a
group is not described here its fields are taken as pointers, which changes nothing in them.
"""

from __future__ import annotations

ROOTS = tuple(
    """
    meta.v1.DeleteOptions meta.v1.Status meta.v1.PatchOptions meta.v1.CreateOptions
    meta.v1.UpdateOptions meta.v1.ListMeta meta.v1.List runtime.Unknown runtime.RawExtension
    runtime.TypeMeta meta.v1.APIVersions meta.v1.APIGroup meta.v1.APIGroupList
    meta.v1.APIResourceList meta.v1.PartialObjectMetadata meta.v1.PartialObjectMetadataList
    meta.v1beta1.PartialObjectMetadataList apidiscovery.v2.APIGroupDiscoveryList
    apidiscovery.v2beta1.APIGroupDiscoveryList
    """.split()
)

_PREFIXES = (
    ("io.k8s.", ""),
    ("apiextensions-apiserver.pkg.apis.", ""),
    ("kube-aggregator.pkg.apis.", ""),
    ("apimachinery.pkg.apis.", ""),
    ("apimachinery.pkg.api.", ""),
    ("apimachinery.pkg.util.", ""),
    ("apimachinery.pkg.", ""),
    ("api.", ""),
)


def short(name: str) -> str:
    """`core.v1.Pod` of a definition's or a message's full name."""
    for prefix, instead in _PREFIXES:
        if name.startswith(prefix):
            name = instead + name[len(prefix) :]
    return name


_DESCRIBED = tuple(
    """
    apps.v1. authentication.v1. authorization.v1. autoscaling.v1. autoscaling.v2. batch.v1.
    certificates.v1. coordination.v1. core.v1. discovery.v1. events.v1. flowcontrol.v1.
    networking.v1. policy.v1. rbac.v1. scheduling.v1. storage.v1. admissionregistration.v1. meta.v1.
    flowcontrol.v1beta1. flowcontrol.v1beta2. flowcontrol.v1beta3. node.v1. storage.v1beta1.
    apidiscovery.v2. apidiscovery.v2beta1.
    """.split()
)
# kinds of described groups that are too young to be described
_UNDESCRIBED = ("PodCertificateRequest", "ClusterTrustBundle", "MutatingAdmissionPolicy")


def described(name: str) -> bool:
    kind = name.rsplit(".", 1)[1]
    return name.startswith(_DESCRIBED) and not kind.startswith(_UNDESCRIBED)


ALL_POINTERS = ("discovery.v1.EndpointPort",)  # unlike core's

INLINE = {
    ("admissionregistration.v1.RuleWithOperations", "rule"),
    ("admissionregistration.v1.NamedRuleWithOperations", "ruleWithOperations"),
    ("admissionregistration.v1beta1.NamedRuleWithOperations", "ruleWithOperations"),
    ("admissionregistration.v1alpha1.NamedRuleWithOperations", "ruleWithOperations"),
    ("core.v1.ConfigMapEnvSource", "localObjectReference"),
    ("core.v1.ConfigMapKeySelector", "localObjectReference"),
    ("core.v1.ConfigMapProjection", "localObjectReference"),
    ("core.v1.ConfigMapVolumeSource", "localObjectReference"),
    ("core.v1.EphemeralContainer", "ephemeralContainerCommon"),
    ("core.v1.PersistentVolumeSpec", "persistentVolumeSource"),
    ("core.v1.Probe", "handler"),
    ("core.v1.SecretEnvSource", "localObjectReference"),
    ("core.v1.SecretKeySelector", "localObjectReference"),
    ("core.v1.SecretProjection", "localObjectReference"),
    ("core.v1.Volume", "volumeSource"),
    ("networking.v1.IngressRule", "ingressRuleValue"),
    *(
        (f"resource.{version}.{kind}", "deviceConfiguration")
        for version in ("v1", "v1beta2", "v1beta1")
        for kind in (
            "DeviceAllocationConfiguration",
            "DeviceClaimConfiguration",
            "DeviceClassConfiguration",
        )
    ),
}


def _pairs(text: str) -> frozenset[tuple[str, str]]:
    """`Kind: field field` a line."""
    rows = []
    for line in text.strip().splitlines():
        kind, _, fields = line.partition(":")
        rows += [(kind.strip(), field) for field in fields.split()]
    return frozenset(rows)


# scalars, times and quantities that are pointers
POINTERS = _pairs("""
MatchResources: matchPolicy
MutatingWebhook: failurePolicy matchPolicy reinvocationPolicy sideEffects timeoutSeconds
NamedRuleWithOperations: scope
Rule: scope
ParamRef: parameterNotFoundAction
ServiceReference: path port
ValidatingAdmissionPolicySpec: failurePolicy
ValidatingWebhook: failurePolicy matchPolicy sideEffects timeoutSeconds
Validation: reason
WebhookClientConfig: url
DaemonSetSpec: revisionHistoryLimit
DaemonSetStatus: collisionCount
DeploymentSpec: progressDeadlineSeconds replicas revisionHistoryLimit
DeploymentStatus: collisionCount terminatingReplicas
ReplicaSetSpec: replicas
ReplicaSetStatus: terminatingReplicas
RollingUpdateStatefulSetStrategy: partition maxUnavailable
RollingUpdateDaemonSet: maxSurge maxUnavailable
RollingUpdateDeployment: maxSurge maxUnavailable
StatefulSetSpec: replicas revisionHistoryLimit
StatefulSetStatus: collisionCount
TokenRequestSpec: expirationSeconds
HorizontalPodAutoscalerSpec: minReplicas targetCPUUtilizationPercentage
HorizontalPodAutoscalerStatus: currentCPUUtilizationPercentage observedGeneration lastScaleTime
HPAScalingRules: selectPolicy stabilizationWindowSeconds tolerance
MetricTarget: averageUtilization averageValue value
MetricValueStatus: averageUtilization averageValue value
CronJobSpec: failedJobsHistoryLimit startingDeadlineSeconds successfulJobsHistoryLimit suspend
CronJobSpec: timeZone
CronJobStatus: lastScheduleTime lastSuccessfulTime
JobSpec: activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode completions
JobSpec: managedBy manualSelector maxFailedIndexes parallelism podReplacementPolicy suspend
JobSpec: ttlSecondsAfterFinished
JobStatus: failedIndexes ready terminating completionTime startTime
PodFailurePolicyOnExitCodesRequirement: containerName
SuccessPolicyRule: succeededCount succeededIndexes
CertificateSigningRequestSpec: expirationSeconds
LeaseSpec: holderIdentity leaseDurationSeconds leaseTransitions preferredHolder strategy acquireTime
LeaseSpec: renewTime
AzureFilePersistentVolumeSource: secretNamespace
ClientIPConfig: timeoutSeconds
ConfigMap: immutable
ContainerStatus: started stopSignal
EndpointAddress: nodeName
EndpointPort: appProtocol
GlusterfsPersistentVolumeSource: endpointsNamespace
ISCSIPersistentVolumeSource: initiatorName
LoadBalancerIngress: ipMode
LocalVolumeSource: fsType
NodeFeatures: supplementalGroupsPolicy
NodeRuntimeHandlerFeatures: recursiveReadOnlyMounts userNamespaces
NodeSwapStatus: capacity
PersistentVolumeClaimStatus: currentVolumeAttributesClassName
PersistentVolumeSpec: volumeAttributesClassName volumeMode
PersistentVolumeStatus: lastPhaseTransitionTime
PodResourceClaimStatus: resourceClaimName
PodStatus: resources startTime
ResourceHealth: message
PortStatus: error
ReplicationControllerSpec: replicas
Secret: immutable
ServiceAccount: automountServiceAccountToken
ServicePort: appProtocol
ServiceSpec: allocateLoadBalancerNodePorts internalTrafficPolicy ipFamilyPolicy loadBalancerClass
ServiceSpec: trafficDistribution
Taint: timeAdded
VolumeMountStatus: recursiveReadOnly
Endpoint: hostname nodeName zone
EndpointConditions: ready serving terminating
ExemptPriorityLevelConfiguration: lendablePercent nominalConcurrencyShares
LimitedPriorityLevelConfiguration: borrowingLimitPercent lendablePercent nominalConcurrencyShares
IngressClassParametersReference: apiGroup namespace scope
IngressPortStatus: error
HTTPIngressPath: pathType
IngressSpec: ingressClassName
NetworkPolicyPort: endPort port protocol
PodDisruptionBudgetSpec: unhealthyPodEvictionPolicy maxUnavailable minAvailable
PriorityClass: preemptionPolicy
CSIDriverSpec: attachRequired fsGroupPolicy nodeAllocatableUpdatePeriodSeconds podInfoOnMount
CSIDriverSpec: preventPodSchedulingIfMissing requiresRepublish seLinuxMount
CSIDriverSpec: serviceAccountTokenInSecrets storageCapacity
CSIStorageCapacity: capacity maximumVolumeSize
StorageClass: allowVolumeExpansion reclaimPolicy volumeBindingMode
TokenRequest: expirationSeconds
VolumeAttachmentSource: persistentVolumeName
VolumeError: errorCode
VolumeNodeResources: count
DeleteOptions: gracePeriodSeconds ignoreStoreReadErrorWithClusterBreakingPotential orphanDependents
DeleteOptions: propagationPolicy
ListMeta: remainingItemCount
Preconditions: resourceVersion uid
PatchOptions: force
""")

# written though empty, and not required by the schema
ALWAYS = _pairs("""
core.v1.Event: reportingComponent reportingInstance
StatefulSetStatus: availableReplicas
EndpointSlice: ports
Role: rules
ClusterRole: rules
HorizontalPodAutoscalerStatus: currentMetrics
FlowSchemaSpec: matchingPrecedence
""")

# structs that are no pointers, of any kind; not of the kinds that follow the slash
_VALUES = {
    "metadata": "", "spec": "", "status": "", "strategy": "", "updateStrategy": "",
    "jobTemplate": "", "template": "ReplicationControllerSpec",
    "resources": "ContainerStatus PodSpec", "state": "", "lastState": "", "loadBalancer": "",
    "daemonEndpoints": "", "nodeInfo": "", "kubeletEndpoint": "", "involvedObject": "",
    "regarding": "", "deprecatedSource": "", "priorityLevelConfiguration": "",
    "limitResponse": "", "clientConfig": "", "backend": "", "podSelector": "NetworkPolicyPeer",
    "scaleTargetRef": "", "current": "", "metric": "", "target": "", "describedObject": "",
    "roleRef": "", "userInfo": "", "preference": "", "podAffinityTerm": "", "preferredVersion": "",
    "creationTimestamp": "", "lastTransitionTime": "", "lastUpdateTime": "", "lastProbeTime": "",
    "lastHeartbeatTime": "", "startedAt": "", "finishedAt": "", "firstTimestamp": "",
    "lastTimestamp": "", "eventTime": "", "lastObservedTime": "", "deprecatedFirstTimestamp": "",
    "deprecatedLastTimestamp": "", "time": "ManagedFieldsEntry", "expirationTimestamp": "",
    "divisor": "",
}  # fmt: skip
# structs that are no pointers in these kinds only
_VALUES_IN = _pairs("""
Event: source
VolumeAttachmentSpec: source
ControllerRevision: data
Endpoint: conditions
IngressServiceBackend: port
TokenReviewStatus: user
ServicePort: targetPort
""")


def is_value(kind: str, field: str) -> bool:
    """Whether the Go field holds the struct itself."""
    if (kind, field) in _VALUES_IN:
        return True
    return field in _VALUES and kind not in _VALUES[field].split()


# the groups the tables leave out: CustomResourceDefinition and APIService
_CRD = "apiextensions.v1"
EXTRA_MESSAGES = f"""
{_CRD}.CustomResourceColumnDefinition=1 name s!;2 type s!;3 format s;4 description s;5 priority i;\
6 jsonPath s!
{_CRD}.CustomResourceConversion=1 strategy s!~ConversionStrategyType;\
2 webhook @{_CRD}.WebhookConversion*
{_CRD}.CustomResourceDefinition=1 metadata @meta.v1.ObjectMeta!;\
2 spec @{_CRD}.CustomResourceDefinitionSpec!;3 status @{_CRD}.CustomResourceDefinitionStatus!
{_CRD}.CustomResourceDefinitionCondition=1 type s!;2 status s!;3 lastTransitionTime @meta.v1.Time!;\
4 reason s;5 message s;6 observedGeneration l
{_CRD}.CustomResourceDefinitionList=1 metadata @meta.v1.ListMeta!;\
2 items []@{_CRD}.CustomResourceDefinition!
{_CRD}.CustomResourceDefinitionNames=1 plural s!;2 singular s;3 shortNames []s;4 kind s!;\
5 listKind s;6 categories []s
{_CRD}.CustomResourceDefinitionSpec=1 group s!;3 names @{_CRD}.CustomResourceDefinitionNames!;\
4 scope s!~ResourceScope;7 versions []@{_CRD}.CustomResourceDefinitionVersion!;\
9 conversion @{_CRD}.CustomResourceConversion*;10 preserveUnknownFields b
{_CRD}.CustomResourceDefinitionStatus=1 conditions []@{_CRD}.CustomResourceDefinitionCondition!;\
2 acceptedNames @{_CRD}.CustomResourceDefinitionNames!;3 storedVersions []s!;4 observedGeneration l
{_CRD}.CustomResourceDefinitionVersion=1 name s!;2 served b!;3 storage b!;7 deprecated b;\
8 deprecationWarning s*;4 schema @{_CRD}.CustomResourceValidation*;\
5 subresources @{_CRD}.CustomResourceSubresources*;\
6 additionalPrinterColumns []@{_CRD}.CustomResourceColumnDefinition;\
9 selectableFields []@{_CRD}.SelectableField
{_CRD}.CustomResourceSubresourceScale=1 specReplicasPath s!;2 statusReplicasPath s!;\
3 labelSelectorPath s*
{_CRD}.CustomResourceSubresourceStatus=
{_CRD}.CustomResourceSubresources=1 status @{_CRD}.CustomResourceSubresourceStatus*;\
2 scale @{_CRD}.CustomResourceSubresourceScale*
{_CRD}.CustomResourceValidation=1 openAPIV3Schema @{_CRD}.JSONSchemaProps*
{_CRD}.ExternalDocumentation=1 description s;2 url s
{_CRD}.JSONSchemaProps=1 id s;2 $schema s;3 $ref s*;4 description s;5 type s;6 format s;7 title s;\
8 default @{_CRD}.JSON*;9 maximum d*;10 exclusiveMaximum b;11 minimum d*;12 exclusiveMinimum b;\
13 maxLength l*;14 minLength l*;15 pattern s;16 maxItems l*;17 minItems l*;18 uniqueItems b;\
19 multipleOf d*;20 enum []@{_CRD}.JSON;21 maxProperties l*;22 minProperties l*;23 required []s;\
24 items @{_CRD}.JSONSchemaPropsOrArray*;25 allOf []@{_CRD}.JSONSchemaProps;\
26 oneOf []@{_CRD}.JSONSchemaProps;27 anyOf []@{_CRD}.JSONSchemaProps;\
28 not @{_CRD}.JSONSchemaProps*;\
29 properties {{}}@{_CRD}.JSONSchemaProps;30 additionalProperties @{_CRD}.JSONSchemaPropsOrBool*;\
31 patternProperties {{}}@{_CRD}.JSONSchemaProps;\
32 dependencies {{}}@{_CRD}.JSONSchemaPropsOrStringArray;\
33 additionalItems @{_CRD}.JSONSchemaPropsOrBool*;34 definitions {{}}@{_CRD}.JSONSchemaProps;\
35 externalDocs @{_CRD}.ExternalDocumentation*;36 example @{_CRD}.JSON*;37 nullable b;\
38 x-kubernetes-preserve-unknown-fields b*;39 x-kubernetes-embedded-resource b;\
40 x-kubernetes-int-or-string b;41 x-kubernetes-list-map-keys []s;42 x-kubernetes-list-type s*;\
43 x-kubernetes-map-type s*;44 x-kubernetes-validations []@{_CRD}.ValidationRule
{_CRD}.SelectableField=1 jsonPath s!
{_CRD}.ServiceReference=1 namespace s!;2 name s!;3 path s*;4 port i*
{_CRD}.ValidationRule=1 rule s!;2 message s;3 messageExpression s;4 reason s*;5 fieldPath s;\
6 optionalOldSelf b*
{_CRD}.WebhookClientConfig=3 url s*;1 service @{_CRD}.ServiceReference*;2 caBundle y
{_CRD}.WebhookConversion=2 clientConfig @{_CRD}.WebhookClientConfig*;3 conversionReviewVersions []s!
apiregistration.v1.APIService=1 metadata @meta.v1.ObjectMeta!;\
2 spec @apiregistration.v1.APIServiceSpec!;3 status @apiregistration.v1.APIServiceStatus!
apiregistration.v1.APIServiceCondition=1 type s!;2 status s!;3 lastTransitionTime @meta.v1.Time!;\
4 reason s;5 message s
apiregistration.v1.APIServiceList=1 metadata @meta.v1.ListMeta!;\
2 items []@apiregistration.v1.APIService!
apiregistration.v1.APIServiceSpec=1 service @apiregistration.v1.ServiceReference*;2 group s;\
3 version s;4 insecureSkipTLSVerify b;5 caBundle y;7 groupPriorityMinimum i!;8 versionPriority i!
apiregistration.v1.APIServiceStatus=1 conditions []@apiregistration.v1.APIServiceCondition
apiregistration.v1.ServiceReference=1 namespace s;2 name s;3 port i*
core.v1.RangeAllocation=1 metadata @meta.v1.ObjectMeta!;2 range s!;3 data y!
"""
