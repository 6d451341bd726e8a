"""Tests of controllers_app/kubelet/pods."""
