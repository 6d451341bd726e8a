"""Kinds served in several versions: conversion, and the behaviour of old versions."""
