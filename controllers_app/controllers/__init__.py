"""The controllers of kube-controller-manager, one reconciler a file, in the order they start.

Adding one touches its file, the tuple below, its test and the documentation.
"""

from __future__ import annotations

import msgspec

from controllers_app.controllers import (
    clusterroleaggregation,
    disruption,
    garbagecollector,
    namespace,
    nodeipam,
    podgc,
    replicaset,
    replicationcontroller,
    resourcequota,
    servicecidrs,
    tainteviction,
    ttl,
    ttlafterfinished,
    validatingadmissionpolicystatus,
)
from controllers_app.controllers.bootstrap import bootstrapsigner, tokencleaner
from controllers_app.controllers.certificates import approving, cleaner, rootca, signing
from controllers_app.controllers.cronjob import cronjob
from controllers_app.controllers.daemonset import daemonset
from controllers_app.controllers.deployment import deployment
from controllers_app.controllers.endpoints import endpoints, endpointslice, endpointslicemirroring
from controllers_app.controllers.job import job
from controllers_app.controllers.nodelifecycle import nodelifecycle
from controllers_app.controllers.podautoscaler import horizontalpodautoscaler
from controllers_app.controllers.serviceaccount import (
    legacytokencleaner,
    legacytokens,
    serviceaccount,
    tokens,
)
from controllers_app.controllers.statefulset import statefulset
from controllers_app.controllers.volume import ephemeral, expand, persistentvolume, protection
from controllers_app.runtime.controller import Factory

ACCOUNT = "system:serviceaccount:kube-system:"
MANAGER = "system:kube-controller-manager"


class Entry(msgspec.Struct, frozen=True):
    """A controller by the name the trace gives it, and the service account it acts as.

    Without an account it is the manager itself, as upstream's tokens controller is, which makes
    the tokens of the others.
    """

    name: str
    account: str
    factory: Factory
    since: int = 0  # minor version
    until: int = 999
    source: str = ""  # whose its events are, where that is not the account

    @property
    def identity(self) -> str:
        return ACCOUNT + self.account if self.account else MANAGER


# name, service account (which is also its name as the source of events), factory
CONTROLLERS = (
    Entry("namespace", "namespace-controller", namespace.NamespaceController),
    Entry("serviceaccount", "service-account-controller", serviceaccount.ServiceAccountController),
    Entry(
        "clusterroleaggregation",
        "clusterrole-aggregation-controller",
        clusterroleaggregation.ClusterRoleAggregationController,
    ),
    Entry("rootca", "root-ca-cert-publisher", rootca.RootCaController),
    Entry("deployment", "deployment-controller", deployment.DeploymentController),
    Entry("replicaset", "replicaset-controller", replicaset.ReplicaSetController),
    Entry(
        "replicationcontroller",
        "replication-controller",
        replicationcontroller.ReplicationControllerController,
    ),
    Entry(
        "daemonset",
        "daemon-set-controller",
        daemonset.DaemonSetController,
        source="daemonset-controller",
    ),
    Entry("statefulset", "statefulset-controller", statefulset.StatefulSetController),
    Entry("job", "job-controller", job.JobController),
    Entry("cronjob", "cronjob-controller", cronjob.CronJobController),
    Entry(
        "ttlafterfinished",
        "ttl-after-finished-controller",
        ttlafterfinished.TtlAfterFinishedController,
    ),
    Entry("disruption", "disruption-controller", disruption.DisruptionController),
    Entry("resourcequota", "resourcequota-controller", resourcequota.ResourceQuotaController),
    Entry(
        "horizontalpodautoscaler",
        "horizontal-pod-autoscaler",
        horizontalpodautoscaler.HorizontalPodAutoscalerController,
    ),
    Entry("endpoints", "endpoint-controller", endpoints.EndpointsController),
    Entry("endpointslice", "endpointslice-controller", endpointslice.EndpointSliceController),
    Entry(
        "endpointslicemirroring",
        "endpointslicemirroring-controller",
        endpointslicemirroring.EndpointSliceMirroringController,
        since=19,
    ),
    Entry(
        "volumebinder",
        "persistent-volume-binder",
        persistentvolume.VolumeBinderController,
        source="persistentvolume-controller",
    ),
    Entry("expand", "expand-controller", expand.ExpandController),
    Entry(
        "ephemeralvolume",
        "ephemeral-volume-controller",
        ephemeral.EphemeralVolumeController,
        since=23,
        source="ephemeral_volume",
    ),
    Entry("claimprotection", "pvc-protection-controller", protection.ClaimProtectionController),
    Entry("volumeprotection", "pv-protection-controller", protection.VolumeProtectionController),
    Entry("nodelifecycle", "node-controller", nodelifecycle.NodeLifecycleController),
    Entry(
        "tainteviction",
        "node-controller",
        tainteviction.TaintEvictionController,
        source="taint-eviction-controller",
    ),
    Entry("nodeipam", "node-controller", nodeipam.NodeIpamController, source="cidrAllocator"),
    Entry("ttl", "ttl-controller", ttl.TtlController),
    Entry(
        "servicecidrs", "service-cidrs-controller", servicecidrs.ServiceCidrsController, since=33
    ),
    Entry("podgc", "pod-garbage-collector", podgc.PodGcController),
    Entry(
        "garbagecollector", "generic-garbage-collector", garbagecollector.GarbageCollectorController
    ),
    Entry(
        "policystatus",
        "validatingadmissionpolicy-status-controller",
        validatingadmissionpolicystatus.PolicyStatusController,
        since=30,
    ),
    Entry("accounttokens", "", tokens.AccountTokensController),
    Entry("csrsigning", "certificate-controller", signing.CsrSigningController),
    Entry("csrapproving", "certificate-controller", approving.CsrApprovingController),
    Entry("csrcleaner", "certificate-controller", cleaner.CsrCleanerController),
    Entry("bootstrapsigner", "bootstrap-signer", bootstrapsigner.BootstrapSignerController),
    Entry("tokencleaner", "token-cleaner", tokencleaner.TokenCleanerController),
    Entry("legacytokens", "", legacytokens.LegacyTokensController, until=23),
    Entry(
        "legacytokencleaner",
        "legacy-service-account-token-cleaner",
        legacytokencleaner.LegacyTokenCleanerController,
        since=29,
    ),
)
