"""Names of kube-apiserver's Go code that its messages show."""

from __future__ import annotations

TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
SCHEME = "pkg/runtime/scheme.go:111"
"""The list of its kinds."""
