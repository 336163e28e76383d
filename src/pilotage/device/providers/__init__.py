"""Providers: they register GPUs with the Device API and report their state. Import the one you need.

- `pilotage.device.providers.fake`: simulated GPUs with changing readiness
- `pilotage.device.providers.nvml.provider`: the GPUs of this machine, read with NVIDIA's management library
(`pilotage[nvml]`)
- `pilotage.device.providers.replay`: the same from a recording
"""
