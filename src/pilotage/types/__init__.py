"""The built-in Kubernetes types, one module for each group and version, imported only when used."""
