"""What a CustomResourceDefinition's schema says, carried out on values: pruning, defaulting,
validation, uniqueness of lists, rules, columns. Knows no store, no request and no other kind.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema.
"""
