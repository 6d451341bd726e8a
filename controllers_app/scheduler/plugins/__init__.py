"""The scheduler's plugins, in the order in which they are asked.

Models kubernetes pkg/scheduler/apis/config/v1/default_plugins.go.
"""

from __future__ import annotations

from controllers_app.scheduler.framework import Plugin
from controllers_app.scheduler.plugins.balanced_allocation import NodeResourcesBalancedAllocation
from controllers_app.scheduler.plugins.default_preemption import DefaultPreemption
from controllers_app.scheduler.plugins.image_locality import ImageLocality
from controllers_app.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from controllers_app.scheduler.plugins.node_affinity import NodeAffinity
from controllers_app.scheduler.plugins.node_name import NodeName
from controllers_app.scheduler.plugins.node_ports import NodePorts
from controllers_app.scheduler.plugins.node_unschedulable import NodeUnschedulable
from controllers_app.scheduler.plugins.pod_topology_spread import PodTopologySpread
from controllers_app.scheduler.plugins.resources_fit import NodeResourcesFit
from controllers_app.scheduler.plugins.taint_toleration import TaintToleration
from controllers_app.scheduler.plugins.volume_binding import VolumeBinding
from controllers_app.scheduler.plugins.volume_restrictions import VolumeRestrictions
from controllers_app.scheduler.plugins.volume_zone import VolumeZone

PLUGINS: tuple[type[Plugin], ...] = (
    NodeUnschedulable,
    NodeName,
    TaintToleration,
    NodeAffinity,
    NodePorts,
    NodeResourcesFit,
    VolumeRestrictions,
    VolumeBinding,
    VolumeZone,
    PodTopologySpread,
    InterPodAffinity,
    DefaultPreemption,
    NodeResourcesBalancedAllocation,
    ImageLocality,
)
