"""What runs beside the program's loop, on its own thread: the watchdog, health probes, the renewal of the lease."""
