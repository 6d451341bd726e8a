"""Values of custom resources against their definition's schema.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema.
"""
