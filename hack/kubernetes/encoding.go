// Writes how Go encodes the built-in types where their OpenAPI does not say it: which fields are always there,
// which optional scalars keep their zero value. Run it from hack/cluster, whose go.mod has the versions:
//
//	go run ../kubernetes/encoding.go > ../kubernetes/encoding.json
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	aggregator "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

type encoding struct {
	// Always has the fields that are never left out, with their zero value.
	Always map[string]json.RawMessage `json:"always,omitempty"`
	// Pointers has the optional scalars for which zero is not the same as absent.
	Pointers []string `json:"pointers,omitempty"`
}

var (
	found     = map[string]*encoding{}
	marshaler = reflect.TypeFor[json.Marshaler]()
)

func main() {
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, extensions.AddToScheme, aggregator.AddToScheme} {
		if err := add(types); err != nil {
			panic(err)
		}
	}
	for _, t := range types.AllKnownTypes() {
		visit(t)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	if err := out.Encode(found); err != nil {
		panic(err)
	}
}

func visit(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		visit(t.Elem())
	case reflect.Struct:
		name := strings.ReplaceAll(strings.Replace(t.PkgPath(), "k8s.io/", "io.k8s.", 1), "/", ".") + "." + t.Name()
		if _, known := found[name]; !known && !custom(t) {
			found[name] = &encoding{Always: map[string]json.RawMessage{}}
			fields(t, found[name])
		}
	}
}

func fields(t reflect.Type, into *encoding) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" {
			fields(field.Type, into)
		} else if name != "-" && field.IsExported() {
			describe(name, ","+options+",", field.Type, into)
			visit(field.Type)
		}
	}
}

func describe(name, options string, t reflect.Type, into *encoding) {
	optional := strings.Contains(options, ",omitempty,")
	switch structure := t.Kind() == reflect.Struct; {
	case t.Kind() == reflect.Pointer:
		if t.Elem().Kind() != reflect.Struct || custom(t.Elem()) {
			into.Pointers = append(into.Pointers, name)
		}
		if !optional {
			into.Always[name] = json.RawMessage("null")
		}
	case strings.Contains(options, ",omitzero,"): // left out when it is empty
	case structure && custom(t) || !structure && !optional:
		zero, err := json.Marshal(reflect.Zero(t).Interface())
		if err != nil {
			panic(fmt.Sprint(name, err))
		}
		into.Always[name] = zero
	case structure:
		into.Always[name] = json.RawMessage("{}")
	}
}

func custom(t reflect.Type) bool {
	return t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)
}
