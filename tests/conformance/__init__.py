"""What real clients are shown: every answer is one that kube-apiserver would have given."""
