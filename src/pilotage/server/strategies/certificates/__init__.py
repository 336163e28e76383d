"""CertificateSigningRequests, and the certificates in them."""
