"""CertificateSigningRequests approved, signed and removed; the CA published to namespaces."""
