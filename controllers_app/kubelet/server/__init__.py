"""The kubelets as the API server reaches them. Models kubernetes pkg/kubelet/server."""
