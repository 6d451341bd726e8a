"""Validation of a CustomResourceDefinition's versions and schemas.

Models apiextensions-apiserver pkg/apis/apiextensions/validation.
"""
