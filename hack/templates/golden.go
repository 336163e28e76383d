package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand"
	"os"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	encoding "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/dump"
)

const (
	sparse = 60 // templates with a few random fields
	dense  = 3  // templates with many fields
)

var (
	texts      = []string{"a", "web", "nginx:1.27", "/var/lib/x", "", "straße", "a b:c", "{}", "<nil>", "日本"}
	quantities = []string{"0", "1", "100m", "250m", "1500m", "128Mi", "1Gi", "1Pi", "8Ei", "5G", "1e3", "12e6", "7Ki", "1u",
		"123456789012345678901", "100n", "-5", "-20Mi", "3k", "1.5", "0.5Gi", "1000", "1024", "1.5Pi", "9223372036854775807", "110", "50T"}
	moment = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// row is one line of golden.json.
type row struct {
	Template  corev1.PodTemplateSpec `json:"template"`
	Collision *int32                 `json:"collisionCount"`
	Hash      string                 `json:"hash"`
}

func writeGolden() {
	os.Setenv("TZ", "") // the time zone of the official images
	_ = time.Now().String()
	random := rand.New(rand.NewSource(36))
	rows := []row{golden(corev1.PodTemplateSpec{}, nil)}
	for _, quantity := range quantities {
		rows = append(rows, golden(withQuantity(quantity), nil))
	}
	for i := range reflect.TypeFor[corev1.VolumeSource]().NumField() {
		var template corev1.PodTemplateSpec
		volume := corev1.Volume{Name: "data"}
		filler{random, 70}.fill(reflect.ValueOf(&volume.VolumeSource).Elem().Field(i), 0, true)
		template.Spec.Volumes = []corev1.Volume{volume}
		rows = append(rows, golden(template, count(random)))
	}
	for i := range sparse + dense + 1 {
		var template corev1.PodTemplateSpec
		chance := 20
		switch {
		case i == sparse+dense: // every field
			chance = 100
		case i >= sparse:
			chance = 40
		}
		filler{random, chance}.fill(reflect.ValueOf(&template.ObjectMeta).Elem(), 0, false)
		filler{random, chance}.fill(reflect.ValueOf(&template.Spec).Elem(), 0, true)
		rows = append(rows, golden(template, count(random)))
	}
	for i, each := range rows {
		text, err := json.Marshal(each)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s%s", map[bool]string{true: "[\n", false: ",\n"}[i == 0], text)
	}
	fmt.Println("\n]")
}

func count(random *rand.Rand) *int32 {
	if random.Intn(3) > 0 {
		return nil
	}
	found := random.Int31n(3)
	return &found
}

func withQuantity(text string) corev1.PodTemplateSpec {
	var template corev1.PodTemplateSpec
	limits := corev1.ResourceList{"cpu": resource.MustParse(text), "memory": resource.MustParse("64Mi")}
	template.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Limits: limits}}}
	return template
}

// golden is the hash of a template as kube-controller-manager reads it: in protobuf, from an API server.
func golden(template corev1.PodTemplateSpec, collision *int32) row {
	data, err := template.Marshal()
	if err != nil {
		panic(err)
	}
	var read corev1.PodTemplateSpec
	if err := read.Unmarshal(data); err != nil {
		panic(err)
	}
	hasher := fnv.New32a()
	fmt.Fprintf(hasher, "%v", dump.ForHash(read))
	if collision != nil {
		bytes := make([]byte, 8)
		binary.LittleEndian.PutUint32(bytes, uint32(*collision))
		hasher.Write(bytes)
	}
	return row{read, collision, encoding.SafeEncodeString(fmt.Sprint(hasher.Sum32()))}
}

// filler fills values at random. chance is that of a field to be set, in percent.
type filler struct {
	random *rand.Rand
	chance int
}

func (f filler) fill(value reflect.Value, depth int, sure bool) {
	if !sure && f.random.Intn(100) >= f.chance {
		return
	}
	switch value.Interface().(type) {
	case resource.Quantity:
		value.Set(reflect.ValueOf(resource.MustParse(quantities[f.random.Intn(len(quantities))])))
		return
	case metav1.Time:
		value.Set(reflect.ValueOf(metav1.NewTime(moment)))
		return
	case intstr.IntOrString:
		chosen := intstr.FromInt32(f.random.Int31n(9000))
		if f.random.Intn(2) == 0 {
			chosen = intstr.FromString(f.text())
		}
		value.Set(reflect.ValueOf(chosen))
		return
	case metav1.FieldsV1:
		value.Set(reflect.ValueOf(metav1.FieldsV1{Raw: []byte(`{"f:a":{}}`)}))
		return
	}
	f.fillKind(value, depth)
}

func (f filler) fillKind(value reflect.Value, depth int) {
	switch value.Kind() {
	case reflect.String:
		value.SetString(f.text())
	case reflect.Bool:
		value.SetBool(f.random.Intn(2) == 0)
	case reflect.Int32, reflect.Int64, reflect.Int:
		value.SetInt(f.random.Int63n(1000) - 100)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		value.SetUint(uint64(f.random.Intn(200)))
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		f.fill(value.Elem(), depth, true)
	case reflect.Slice:
		for range 1 + f.random.Intn(2) {
			item := reflect.New(value.Type().Elem()).Elem()
			f.fill(item, depth+1, true)
			value.Set(reflect.Append(value, item))
		}
	case reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
		for range 1 + f.random.Intn(3) {
			key, item := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
			key.SetString(f.text())
			f.fill(item, depth+1, true)
			value.SetMapIndex(key, item)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			f.fill(value.Field(i), depth+1, false)
		}
	default:
		panic(value.Type().String())
	}
}

func (f filler) text() string {
	return texts[f.random.Intn(len(texts))]
}
