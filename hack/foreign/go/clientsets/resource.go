package clientsets

import (
	"context"
	"encoding/json"
	"iter"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"pilotage.example/foreign/report"
)

// resource is a typed client of one resource, such as a ConfigMapInterface. Its methods have the same form for every
// kind, which Go can only say by reflection.
type resource struct {
	client     reflect.Value
	namespaced bool
}

// resources are the typed clients of a clientset by the kind of their objects.
func resources(clientset kubernetes.Interface, namespace string) map[reflect.Type]resource {
	found := map[reflect.Type]resource{}
	for group := range results(reflect.ValueOf(clientset), namespace, "RESTClient") {
		for client, namespaced := range results(group, namespace, "Get") {
			if create := client.MethodByName("Create"); create.IsValid() {
				found[create.Type().In(1)] = resource{client, namespaced}
			}
		}
	}
	return found
}

// results are what the methods without arguments, or with a namespace as the only one, return, if that has a method:
// the clients of groups, or of the resources of a group, and whether they have a namespace.
func results(value reflect.Value, namespace, wanted string) iter.Seq2[reflect.Value, bool] {
	return func(yield func(reflect.Value, bool) bool) {
		for i := range value.NumMethod() {
			method := value.Method(i)
			form := method.Type()
			if form.NumOut() != 1 || form.Out(0).Kind() != reflect.Interface {
				continue
			}
			if _, has := form.Out(0).MethodByName(wanted); !has {
				continue
			}
			var arguments []reflect.Value
			if form.NumIn() == 1 && form.In(0).Kind() == reflect.String {
				arguments = append(arguments, reflect.ValueOf(namespace))
			} else if form.NumIn() != 0 {
				continue
			}
			if !yield(method.Call(arguments)[0].Elem(), len(arguments) > 0) {
				return
			}
		}
	}
}

func (r resource) has(method string) bool {
	return r.client.MethodByName(method).IsValid()
}

// call calls a method of the client and returns its result and its error.
func (r resource) call(method string, arguments ...any) (any, error) {
	var values []reflect.Value
	for _, argument := range arguments {
		values = append(values, reflect.ValueOf(argument))
	}
	results := r.client.MethodByName(method).Call(values)
	err, _ := results[len(results)-1].Interface().(error)
	return results[0].Interface(), err
}

// object is what call returns for a method that returns an object.
func (r resource) object(method string, arguments ...any) (metav1.Object, error) {
	result, err := r.call(method, arguments...)
	if err != nil {
		return nil, err
	}
	return result.(metav1.Object), nil
}

func (r resource) patch(ctx context.Context, name string, form types.PatchType, body string) (metav1.Object, error) {
	return r.object("Patch", ctx, name, form, []byte(body), metav1.PatchOptions{})
}

func (r resource) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	result, err := r.call("Watch", ctx, options)
	if err != nil {
		return nil, err
	}
	return result.(watch.Interface), nil
}

// apply calls Apply or ApplyStatus with a document as the apply configuration of the kind.
func (r resource) apply(ctx context.Context, method string, document map[string]any, manager string, force bool) (metav1.Object, error) {
	text, err := json.Marshal(document)
	report.Check(err)
	configuration := reflect.New(r.client.MethodByName(method).Type().In(1).Elem())
	report.Check(json.Unmarshal(text, configuration.Interface()))
	return r.object(method, ctx, configuration.Interface(), metav1.ApplyOptions{FieldManager: manager, Force: force})
}
