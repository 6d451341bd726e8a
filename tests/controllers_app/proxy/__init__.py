"""Tests of controllers_app/proxy."""
