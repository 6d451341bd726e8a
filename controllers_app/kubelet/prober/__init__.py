"""Probes of containers. Models kubernetes pkg/kubelet/prober."""
