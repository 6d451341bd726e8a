"""Manifests of the tests, as a class would write them."""

from __future__ import annotations

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "nginx:1.27"}
"""
WEB_THREE = WEB.replace("replicas: 2", "replicas: 3")

SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  colour: blue
"""
SETTINGS_RED = SETTINGS.replace("blue", "red")

# the manifest of the golden session
GOLDEN = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: nginx-deployment
spec:
  replicas: 1
  selector:
    matchLabels:
      app: nginx
  template:
    metadata:
      labels:
        app: nginx
    spec:
      containers:
      - image: nginx
        name: nginx
"""
