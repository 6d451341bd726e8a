"""Tests of controllers_app/kubelet/server."""
