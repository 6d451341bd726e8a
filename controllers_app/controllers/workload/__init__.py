"""What controllers of workloads share: owners, pods, pod state, revisions."""
