// Command kube-controller-manager is Kubernetes' own, as its cmd/kube-controller-manager has it.
package main

import (
	"os"
	_ "time/tzdata" // for the time zones of CronJobs

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	os.Exit(cli.Run(app.NewControllerManagerCommand()))
}
