"""Kubernetes' protobuf: messages to documents and back, from tables of fields."""
