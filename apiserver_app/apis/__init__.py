"""Helpers for the kinds, shared by the API server and the components: no I/O, no Django.

Models kubernetes pkg/apis/*/helpers.go, pkg/api/v1 and k8s.io/component-helpers.
"""
