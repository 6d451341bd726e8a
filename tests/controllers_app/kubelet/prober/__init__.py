"""Tests of controllers_app/kubelet/prober."""
