"""Providers: what tells the Device API which GPUs there are and how they are. Import the one you need.

- `pilotage.device.providers.fake`: GPUs that do not exist, whose readiness toggles
- `pilotage.device.providers.nvml.provider`: the GPUs of this machine, by NVIDIA's management library (`pilotage[nvml]`)
- `pilotage.device.providers.replay`: the same from a recording
"""
