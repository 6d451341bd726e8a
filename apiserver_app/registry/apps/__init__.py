"""DaemonSets, Deployments, ReplicaSets, StatefulSets, ControllerRevisions."""
