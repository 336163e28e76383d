// Lists Widgets from the cache of controller-runtime, which copies each of them: what ours is measured beside.
//
//	lists KUBECONFIG NAMESPACE    for each line of standard input, one list; prints a line of JSON about it
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"pilotage.example/foreign/report"
)

type figure struct {
	Count     int     `json:"count"`
	Seen      int     `json:"seen"`
	Wall      float64 `json:"wall"`
	CPU       float64 `json:"cpu"`
	Allocated uint64  `json:"allocated"`
}

func main() {
	log.SetLogger(logr.Discard())
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	report.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cached, err := cache.New(config, cache.Options{Scheme: newScheme()})
	report.Check(err)
	_, err = cached.GetInformer(ctx, &Widget{})
	report.Check(err)
	go func() { report.Check(cached.Start(ctx)) }()
	cached.WaitForCacheSync(ctx)
	encoder := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		report.Check(encoder.Encode(list(ctx, cached, os.Args[2])))
	}
}

func list(ctx context.Context, reader client.Reader, namespace string) figure {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, used := time.Now(), processTime()
	found := &WidgetList{}
	report.Check(reader.List(ctx, found, client.InNamespace(namespace)))
	seen := 0
	for i := range found.Items {
		seen += look(&found.Items[i])
	}
	made := figure{Count: len(found.Items), Seen: seen, Wall: time.Since(start).Seconds(), CPU: processTime() - used}
	runtime.ReadMemStats(&after)
	made.Allocated = after.TotalAlloc - before.TotalAlloc
	runtime.KeepAlive(found)
	return made
}

// look reads the fields that bench/lists.py reads.
func look(widget *Widget) int {
	return len(widget.Name) + int(widget.Spec.Size) + len(widget.Spec.Title) + len(widget.Spec.Tags) +
		len(widget.Spec.Parts) + len(widget.Spec.Environment)
}

func processTime() float64 {
	var usage syscall.Rusage
	report.Check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}
