"""The GPUs of this machine, read with NVIDIA's management library (NVML)."""
