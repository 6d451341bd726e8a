"""Tests of controllers_app/kubelet/volumes."""
