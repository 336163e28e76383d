"""The manager: runnables in order, leader election, health, metrics, work tracking, shutdown."""
