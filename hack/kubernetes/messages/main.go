// Writes messages.json: the protobuf messages of Kubernetes' Go types, with what the .proto files do not say: the name of
// a field in JSON, whether it is a pointer, and whether JSON leaves an empty value out.
//
//	go run . > ../messages.json
//
// A message is a list of rows [field number, JSON name, flags, type]. The name is empty where the fields of the message
// are fields of its parent in JSON. Flags: "r" repeated, "m" a map from strings, "p" a pointer, "o" left out of JSON when
// empty, "z" left out of JSON when it is the zero value of its type.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/scheme"
)

type row struct {
	number            int
	name, flags, kind string
}

func (r row) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{r.number, r.name, r.flags, r.kind})
}

var messages = map[string][]row{}

func main() {
	for _, known := range []*runtime.Scheme{scheme.Scheme, apiextensions.Scheme, aggregator.Scheme} {
		for _, each := range known.AllKnownTypes() {
			add(each)
		}
	}
	for _, each := range []any{metav1.PartialObjectMetadataList{}, metav1.APIResourceList{}, runtime.Unknown{}, apidiscovery.APIGroupDiscoveryList{}} {
		add(reflect.TypeOf(each))
	}
	names := slices.Sorted(maps.Keys(messages))
	for i, name := range names {
		rows, err := json.Marshal(messages[name])
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s%q:%s", map[bool]string{true: "{\n", false: ",\n"}[i == 0], name, rows)
	}
	fmt.Println("\n}")
}

// add writes the rows of a message and of those that it refers to, and returns its name.
func add(each reflect.Type) string {
	name := strings.ReplaceAll(strings.ReplaceAll(each.PkgPath(), "/", "."), "-", "_") + "." + each.Name()
	if _, done := messages[name]; done {
		return name
	}
	messages[name] = []row{}
	if each.Kind() == reflect.Slice { // a list that is a message of its own
		messages[name] = []row{{1, "", "r", "string"}}
		return name
	}
	for i := range each.NumField() {
		field := each.Field(i)
		parts := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(parts) < 2 {
			continue
		}
		number, err := strconv.Atoi(parts[1])
		if err != nil {
			panic(err)
		}
		tag := strings.Split(field.Tag.Get("json"), ",")
		kind, flags := describe(field.Type)
		for _, option := range tag[1:] {
			switch option {
			case "omitempty":
				flags += "o"
			case "omitzero":
				flags += "z"
			}
		}
		messages[name] = append(messages[name], row{number, tag[0], flags, kind})
	}
	sort.Slice(messages[name], func(i, j int) bool { return messages[name][i].number < messages[name][j].number })
	return name
}

// describe returns the protobuf type of a Go type, and its flags.
func describe(each reflect.Type) (kind, flags string) {
	if _, message := reflect.New(each).Interface().(interface{ Marshal() ([]byte, error) }); message {
		return add(each), ""
	}
	switch each.Kind() {
	case reflect.Pointer:
		kind, _ = describe(each.Elem())
		return kind, "p"
	case reflect.Slice:
		if each.Elem().Kind() == reflect.Uint8 {
			return "bytes", ""
		}
		kind, _ = describe(each.Elem())
		return kind, "r"
	case reflect.Map:
		kind, _ = describe(each.Elem())
		return kind, "m"
	case reflect.Float64:
		return "double", ""
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64:
		return each.Kind().String(), ""
	}
	panic(fmt.Sprintf("%v is not a protobuf type", each))
}
