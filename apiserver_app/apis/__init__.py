"""What kinds mean, for the API server and for components that act on them: no I/O, no Django.

Models kubernetes pkg/apis/*/helpers.go, pkg/api/v1 and k8s.io/component-helpers.
"""
