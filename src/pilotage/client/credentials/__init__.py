"""Credentials of a client: where they are found (kubeconfig files, programs), and how they are kept up to date."""
