"""CertificateSigningRequests and ClusterTrustBundles."""
