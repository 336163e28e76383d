package clientsets

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	"pilotage.example/foreign/report"
)

// placeholders of the recordings stand for what a server made.
var placeholders = strings.NewReplacer("<time>", "2026-01-02T03:04:05Z", "<uid>", "01234567-89ab-cdef-0123-456789abcdef")

// run is what is done with one sample.
type run struct {
	job    *report.Job
	client resource
	sample sample
	label  string
	name   string
}

func (r *run) show(step string, value any, err error) {
	label := r.sample.name + " " + step
	if err != nil {
		r.job.Refused(label, err)
	} else {
		r.job.Show(label, value)
	}
}

func (r *run) all(ctx context.Context) {
	created := r.create(ctx)
	if created == nil {
		return
	}
	events := r.read(ctx)
	r.update(ctx, created)
	r.patch(ctx)
	if r.client.has("Apply") {
		r.apply(ctx)
	}
	r.delete(ctx, events)
}

func (r *run) create(ctx context.Context) metav1.Object {
	object := decoded(r.sample.object)
	metadata := object.(metav1.Object)
	labels := map[string]string{"foreign": r.job.Namespace}
	for name, value := range metadata.GetLabels() {
		labels[name] = value
	}
	metadata.SetLabels(labels)
	if r.client.namespaced {
		metadata.SetNamespace(r.job.Namespace)
	}
	dry, err := r.client.object("Create", ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	r.show("dry run", dry, err)
	created, err := r.client.object("Create", ctx, object, metav1.CreateOptions{FieldManager: "creator"})
	r.show("create", created, err)
	if err != nil {
		return nil
	}
	r.name = created.GetName()
	_, err = r.client.object("Create", ctx, object, metav1.CreateOptions{})
	r.show("create again", nil, err)
	return created
}

// read gets and lists the object, and returns a watch from then on.
func (r *run) read(ctx context.Context) watch.Interface {
	got, err := r.client.object("Get", ctx, r.name, metav1.GetOptions{})
	r.show("get", got, err)
	result, err := r.client.call("List", ctx, metav1.ListOptions{LabelSelector: r.label})
	r.show("list", result, err)
	options := metav1.ListOptions{LabelSelector: r.label, ResourceVersion: result.(metav1.ListInterface).GetResourceVersion()}
	events, err := r.client.watch(ctx, options)
	report.Check(err)
	return events
}

func (r *run) update(ctx context.Context, created metav1.Object) {
	current, err := r.client.object("Get", ctx, r.name, metav1.GetOptions{})
	report.Check(err)
	current.SetAnnotations(map[string]string{"step": "update"})
	updated, err := r.client.object("Update", ctx, current, metav1.UpdateOptions{})
	r.show("update", updated, err)
	_, err = r.client.object("Update", ctx, created, metav1.UpdateOptions{})
	r.show("update of an old version", nil, err)
	if r.client.has("UpdateStatus") && r.sample.status != nil && err != nil {
		current, err = r.client.object("Get", ctx, r.name, metav1.GetOptions{})
		report.Check(err)
		document := r.document(current)
		document["status"] = r.sample.status
		updated, err = r.client.object("UpdateStatus", ctx, decoded(document), metav1.UpdateOptions{FieldManager: "status"})
		r.show("update of the status", updated, err)
	}
}

func (r *run) patch(ctx context.Context) {
	for _, one := range []struct {
		form types.PatchType
		body string
	}{
		{types.JSONPatchType, `[{"op": "add", "path": "/metadata/labels/json", "value": "yes"}, {"op": "test", "path": "/metadata/name", "value": "` + r.name + `"}]`},
		{types.MergePatchType, `{"metadata": {"annotations": {"step": null, "merge": "yes"}}}`},
		{types.StrategicMergePatchType, `{"metadata": {"finalizers": ["foreign.example.com/one", "foreign.example.com/two"]}}`},
		{types.StrategicMergePatchType, `{"metadata": {"$deleteFromPrimitiveList/finalizers": ["foreign.example.com/one", "foreign.example.com/two"]}}`},
		{types.JSONPatchType, `[{"op": "test", "path": "/metadata/name", "value": "other"}]`},
		{types.MergePatchType, `{"metadata": {"name": "other"}}`},
	} {
		patched, err := r.client.patch(ctx, r.name, one.form, one.body)
		r.show(string(one.form), patched, err)
	}
}

func (r *run) apply(ctx context.Context) {
	document := copied(r.sample.object)
	metadata := document["metadata"].(map[string]any)
	metadata["labels"] = map[string]any{"foreign": r.job.Namespace, "applied": "one"}
	if r.client.namespaced {
		metadata["namespace"] = r.job.Namespace
	}
	for _, one := range []struct {
		manager, value string
		force          bool
	}{{"one", "one", false}, {"one", "one", true}, {"two", "two", false}, {"two", "two", true}} {
		metadata["labels"].(map[string]any)["applied"] = one.value
		applied, err := r.client.apply(ctx, "Apply", document, one.manager, one.force)
		r.show(fmt.Sprintf("apply by %s, forced %t", one.manager, one.force), applied, err)
	}
	if r.client.has("ApplyStatus") && r.sample.status != nil {
		document := map[string]any{"apiVersion": document["apiVersion"], "kind": document["kind"], "status": r.sample.status}
		document["metadata"] = map[string]any{"name": r.name, "namespace": metadata["namespace"]}
		applied, err := r.client.apply(ctx, "ApplyStatus", document, "status", true)
		r.show("apply of the status", applied, err)
	}
}

func (r *run) delete(ctx context.Context, events watch.Interface) {
	wrong := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(types.UID("other"))}}
	_, err := r.client.call("Delete", ctx, r.name, wrong)
	r.show("delete of another uid", nil, err)
	// What controllers would do after the delete is left out: there are none on the real server.
	held, err := r.client.patch(ctx, r.name, types.MergePatchType, `{"metadata": {"finalizers": null}}`)
	r.show("without finalizers", held, err)
	now := metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To(int64(0)),
		PropagationPolicy:  ptr.To(metav1.DeletePropagationBackground),
	}
	if r.client.has("DeleteCollection") {
		_, err = r.client.call("DeleteCollection", ctx, now, metav1.ListOptions{LabelSelector: r.label})
		r.show("delete of the collection", nil, err)
	} else {
		_, err = r.client.call("Delete", ctx, r.name, now)
		r.show("delete", nil, err)
	}
	left, err := r.client.object("Get", ctx, r.name, metav1.GetOptions{})
	r.show("left", left, err)
	r.events(events, func(event watch.Event) bool {
		if apierrors.IsNotFound(err) {
			return event.Type == watch.Deleted
		}
		return event.Object.(metav1.Object).GetResourceVersion() == left.GetResourceVersion()
	})
}

// events prints what the watch received, until the last event.
func (r *run) events(events watch.Interface, isLast func(watch.Event) bool) {
	defer events.Stop()
	for {
		select {
		case event := <-events.ResultChan():
			r.show("event", []any{event.Type, event.Object}, nil)
			if isLast(event) {
				return
			}
		case <-time.After(report.Within):
			report.Check(fmt.Errorf("%s: the watch has no last event", r.sample.name))
		}
	}
}

// document is an object as the JSON that a client would send.
func (r *run) document(object any) map[string]any {
	text, err := json.Marshal(object)
	report.Check(err)
	document := map[string]any{}
	report.Check(json.Unmarshal(text, &document))
	document["apiVersion"], document["kind"] = r.sample.object["apiVersion"], r.sample.object["kind"]
	return document
}

func copied(document map[string]any) map[string]any {
	return runtime.DeepCopyJSON(document)
}

func kind(document map[string]any) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(document["apiVersion"].(string), document["kind"].(string))
}

func decoded(document map[string]any) runtime.Object {
	text, err := json.Marshal(document)
	report.Check(err)
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	report.Check(err)
	return object
}
