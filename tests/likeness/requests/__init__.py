"""Made-up requests: what kube-apiserver answered them, recorded and replayed."""
