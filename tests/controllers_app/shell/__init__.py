"""Tests of controllers_app/shell."""
