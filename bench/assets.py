"""How long envtest waits for the launchers of `pilotage assets`: python -m bench.assets

It starts both as envtest does: asks each for its help, starts etcd, polls its health ten times a second, and the same
of kube-apiserver. Beside the seconds is the CPU time of both processes, which does not depend on the load.
"""
