"""Tests: each folder mirrors the package it tests."""
