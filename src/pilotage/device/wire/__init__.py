"""The wire protocol of the Device API: requests and responses as protobuf messages of each generation. No I/O.

Objects are Kubernetes JSON in the interface and messages on the wire. Protobuf is imported when a message is first
encoded or decoded; MissingExtra is raised if `pilotage[device]` is not installed.
"""
