// Writes what the hash of a Pod template depends on: the Go types of its fields, and golden hashes for tests.
//
//	go run . types > ../../src/pilotage/workloads/templates/gotypes.json
//	go run . golden > ../../tests/workloads/templates/golden.json
//
// Run it again, with other versions in go.mod, when the types of Kubernetes change.
//
// A struct is a list of rows [Go name, JSON name, type]; the JSON name is empty where the fields are fields of the parent
// in JSON. Another named type is the text of its underlying type.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// scalars are types that the reader knows.
var scalars = map[reflect.Type]bool{
	reflect.TypeFor[resource.Quantity]():  true,
	reflect.TypeFor[metav1.Time]():        true,
	reflect.TypeFor[intstr.IntOrString](): true,
}

var (
	types   = map[string]any{}
	written = map[string]reflect.Type{}
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "types" {
		add(reflect.TypeFor[corev1.PodTemplateSpec]())
		print(types)
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "golden" {
		writeGolden()
		return
	}
	fmt.Fprintln(os.Stderr, "usage: go run . types|golden")
	os.Exit(2)
}

// print writes an object with one line for each key.
func print(rows map[string]any) {
	for i, name := range slices.Sorted(maps.Keys(rows)) {
		text, err := json.Marshal(rows[name])
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s%q:%s", map[bool]string{true: "{\n", false: ",\n"}[i == 0], name, text)
	}
	fmt.Println("\n}")
}

// add writes a type and those that it refers to.
func add(each reflect.Type) {
	name := each.String()
	if other, done := written[name]; done {
		if other != each {
			panic("two types are named " + name)
		}
		return
	}
	written[name] = each
	switch each.Kind() {
	case reflect.Pointer, reflect.Slice:
		add(each.Elem())
	case reflect.Map:
		add(each.Key())
		add(each.Elem())
	case reflect.Struct:
		if !scalars[each] {
			addStruct(each)
		}
		return
	}
	if each.PkgPath() != "" { // a named type
		types[name] = underlying(each)
	}
}

func underlying(each reflect.Type) string {
	switch each.Kind() {
	case reflect.Slice:
		return "[]" + each.Elem().String()
	case reflect.Map:
		return "map[" + each.Key().String() + "]" + each.Elem().String()
	default:
		return each.Kind().String()
	}
}

func addStruct(each reflect.Type) {
	rows := [][3]string{}
	for i := range each.NumField() {
		field := each.Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		rows = append(rows, [3]string{field.Name, tag, field.Type.String()})
		add(field.Type)
	}
	types[each.String()] = rows
}
