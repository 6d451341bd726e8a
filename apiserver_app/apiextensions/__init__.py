"""Applies a CustomResourceDefinition's schema to values: pruning, defaulting, validation,
uniqueness of lists, CEL rules, columns. Knows no store, no request and no other kind.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema.
"""
