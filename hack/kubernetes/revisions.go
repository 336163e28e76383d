// Writes what kube-controller-manager stores as the data of a ControllerRevision, and its hashes, for each template of
// tests/workloads/revisions/templates.json. Run it from hack/cluster, whose go.mod has the versions:
//
//	go run ../kubernetes/revisions.go < ../../tests/workloads/revisions/templates.json > ../../tests/workloads/revisions/golden.json
package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"strconv"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	exact "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes/scheme"
)

type golden struct {
	// StatefulSet is the data of its revision: numbers go through floats.
	StatefulSet string `json:"statefulSet"`
	// DaemonSet is the data of its revision: numbers stay exact.
	DaemonSet string `json:"daemonSet"`
	// Hashes has the hash of the first one without a collision count, and with 0, 1 and 12.
	Hashes [4]string `json:"hashes"`
}

type codec struct {
	read  func([]byte, any) error
	write func(any) ([]byte, error)
}

func main() {
	var templates map[string]core.PodTemplateSpec
	check(json.NewDecoder(os.Stdin).Decode(&templates))
	found := map[string]golden{}
	for name, template := range templates {
		set := &apps.StatefulSet{
			ObjectMeta: meta.ObjectMeta{Name: "web", Namespace: "default"},
			Spec:       apps.StatefulSetSpec{Template: template},
		}
		encoded, err := runtime.Encode(scheme.Codecs.LegacyCodec(apps.SchemeGroupVersion), set)
		check(err)
		plain, err := json.Marshal(&apps.DaemonSet{Spec: apps.DaemonSetSpec{Template: template}})
		check(err)
		data := patch(encoded, codec{json.Unmarshal, json.Marshal})
		one := golden{StatefulSet: string(data), DaemonSet: string(patch(plain, codec{exact.Unmarshal, exact.Marshal}))}
		for i, probe := range []int32{-1, 0, 1, 12} {
			one.Hashes[i] = hash(data, probe)
		}
		found[name] = one
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	check(out.Encode(found))
}

func patch(encoded []byte, codec codec) []byte {
	var raw map[string]any
	check(codec.read(encoded, &raw))
	template := raw["spec"].(map[string]any)["template"].(map[string]any)
	template["$patch"] = "replace"
	data, err := codec.write(map[string]any{"spec": map[string]any{"template": template}})
	check(err)
	return data
}

func hash(data []byte, probe int32) string {
	sum := fnv.New32()
	sum.Write(data)
	if probe >= 0 {
		sum.Write([]byte(strconv.FormatInt(int64(probe), 10)))
	}
	return rand.SafeEncodeString(fmt.Sprint(sum.Sum32()))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
