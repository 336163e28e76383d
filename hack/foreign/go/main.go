// The program foreign does one job of a Go client on the server of a kubeconfig, in a namespace that the job creates.
//
//	foreign JOB KUBECONFIG NAMESPACE [ARGUMENT...]
//
// It prints what it saw. The tests run it on two servers and compare the lines. The folder of the program has the
// fixtures of envtest in the folder testdata.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"pilotage.example/foreign/clientsets"
	"pilotage.example/foreign/fixtures"
	"pilotage.example/foreign/managers"
	"pilotage.example/foreign/report"
)

var jobs = map[string]func(context.Context, *report.Job){
	"clientsets": clientsets.Run, // FILE PART: the objects in this file whose names have this part
	"fixtures":   fixtures.Run,
	"managers":   managers.Run,
}

func main() {
	if len(os.Args) < 4 || jobs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: foreign clientsets|fixtures|managers KUBECONFIG NAMESPACE [ARGUMENT...]")
		os.Exit(2)
	}
	log.SetLogger(logr.Discard())
	klog.SetOutput(os.Stderr)
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[2])
	report.Check(err)
	config.QPS = -1 // the servers have limits of their own
	program, err := os.Executable()
	report.Check(err)
	job := &report.Job{
		Config:    config,
		Namespace: os.Args[3],
		Fixtures:  filepath.Join(filepath.Dir(program), "testdata"),
		Arguments: os.Args[4:],
	}
	jobs[os.Args[1]](context.Background(), job)
}
