"""The kinds of the group resource.k8s.io: claims of devices, their classes, and the devices of nodes."""
