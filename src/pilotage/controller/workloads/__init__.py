"""Pods and Jobs as controllers see them: ready, available, active, finished, and which Pod is deleted first."""
