// Package clientsets is a job of client-go's typed clients: every kind, with every verb, in protobuf.
package clientsets

import (
	"context"
	_ "embed"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"pilotage.example/foreign/report"
)

//go:embed samples.yaml
var more []byte

// controlled are the samples whose other fields a controller sets, at a moment of its own.
var controlled = []string{"clusterrole-rich", "flowschema-minimal", "flowschema-rich", "resourcequota-minimal", "resourcequota-rich"}

// sample is an object to create, with a status that it may have.
type sample struct {
	name   string
	object map[string]any
	status map[string]any
}

// Run does the same for each sample: all verbs of its typed client.
func Run(ctx context.Context, job *report.Job) {
	config := rest.CopyConfig(job.Config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	config.WarningHandler = warnings{job}
	clientset, err := kubernetes.NewForConfig(config)
	report.Check(err)
	_, err = clientset.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: job.Namespace}}, metav1.CreateOptions{})
	report.Check(err)
	kinds := resources(clientset, job.Namespace)
	samples := samples(job)
	showMissing(job, clientset, samples)
	for _, sample := range samples {
		client, found := kinds[reflect.TypeOf(decoded(sample.object))]
		if !found {
			job.Show("no typed client", sample.name) // definitions and APIServices have clientsets of their own
			continue
		}
		(&run{job: job, client: client, sample: sample, label: "foreign=" + job.Namespace}).all(ctx)
	}
}

// warnings prints the warnings of the server.
type warnings struct{ job *report.Job }

// HandleWarningHeader implements rest.WarningHandler.
func (w warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.job.Show("warning", text)
}

// samples are those of the file and ours whose names have a part, in the order of their names; what acts on other
// requests comes last.
func samples(job *report.Job) []sample {
	file, part := job.Arguments[0], job.Arguments[1]
	text, err := os.ReadFile(file)
	report.Check(err)
	var all map[string]struct {
		Object, Live map[string]any
	}
	report.Check(json.Unmarshal([]byte(placeholders.Replace(string(text))), &all))
	report.Check(yaml.Unmarshal(more, &all))
	var found []sample
	for name, one := range all {
		if slices.Contains(controlled, name) {
			continue
		}
		if one.Object != nil && scheme.Scheme.Recognizes(kind(one.Object)) && strings.Contains(name, part) {
			status, _ := one.Live["status"].(map[string]any)
			found = append(found, sample{name, one.Object, status})
		}
	}
	order := func(one sample) string {
		if kind(one.object).Group == "admissionregistration.k8s.io" {
			return "~" + one.name
		}
		return one.name
	}
	slices.SortFunc(found, func(one, other sample) int { return strings.Compare(order(one), order(other)) })
	return found
}

// showMissing prints the kinds that a client can create and delete, and that have no sample.
func showMissing(job *report.Job, clientset kubernetes.Interface, samples []sample) {
	lists, err := clientset.Discovery().ServerPreferredResources()
	report.Check(err)
	var missing []string
	for _, list := range lists {
		for _, one := range list.APIResources {
			hasSample := slices.ContainsFunc(samples, func(sample sample) bool {
				return kind(sample.object).Kind == one.Kind && sample.object["apiVersion"] == list.GroupVersion
			})
			if slices.Contains(one.Verbs, "create") && slices.Contains(one.Verbs, "delete") && !hasSample {
				missing = append(missing, list.GroupVersion+" "+one.Kind)
			}
		}
	}
	slices.Sort(missing)
	job.Show("without a sample", missing)
}
