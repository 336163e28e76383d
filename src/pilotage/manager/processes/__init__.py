"""Several processes as one program: one set of signals, logs, metrics and health probes."""
