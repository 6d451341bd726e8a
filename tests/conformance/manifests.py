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

# its class is to be made by whoever uses it
DATABASE = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 1
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers:
      - {name: db, image: nginx, volumeMounts: [{name: data, mountPath: /data}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec:
      storageClassName: fast
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: 1Gi}}
"""
STORAGE_CLASS = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: rancher.io/local-path
volumeBindingMode: WaitForFirstConsumer
"""

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
