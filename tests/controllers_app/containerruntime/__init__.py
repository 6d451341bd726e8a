"""Tests of controllers_app/containerruntime."""
