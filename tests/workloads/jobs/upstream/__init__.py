"""The cases of Kubernetes' own tests of its Job controller, at version 1.36.3, as data."""
