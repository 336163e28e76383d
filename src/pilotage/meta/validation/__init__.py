"""Rules for objects of every kind, with Kubernetes' messages: names, labels, metadata, client configurations."""
