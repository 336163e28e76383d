// Package tanks has a custom resource, its definition and its controller: a Tank has a ConfigMap and a Deployment.
package tanks

import (
	_ "embed"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"pilotage.example/foreign/report"
)

// GroupVersion is that of the Tank.
var GroupVersion = schema.GroupVersion{Group: "tanks.go.example.com", Version: "v1"}

//go:embed definition.yaml
var definition []byte

// Tank is the custom resource of the jobs.
type Tank struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// Spec is what a user wants of a Tank.
type Spec struct {
	Size     int32  `json:"size"`
	Mode     string `json:"mode,omitempty"`
	Replicas *int32 `json:"replicas,omitempty"`
}

// Status is what the controller has done for a Tank.
type Status struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Replicas           int32              `json:"replicas,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// TankList is a list of Tanks.
type TankList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Tank `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (t *Tank) DeepCopyObject() runtime.Object {
	copied := *t
	t.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	if t.Spec.Replicas != nil {
		replicas := *t.Spec.Replicas
		copied.Spec.Replicas = &replicas
	}
	copied.Status.Conditions = nil
	for _, condition := range t.Status.Conditions {
		copied.Status.Conditions = append(copied.Status.Conditions, *condition.DeepCopy())
	}
	return &copied
}

// DeepCopyObject implements runtime.Object.
func (l *TankList) DeepCopyObject() runtime.Object {
	copied := *l
	l.ListMeta.DeepCopyInto(&copied.ListMeta)
	copied.Items = nil
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].DeepCopyObject().(*Tank))
	}
	return &copied
}

// Scheme has the built-in kinds, definitions and Tanks.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	report.Check(clientgoscheme.AddToScheme(scheme))
	report.Check(apiextensionsv1.AddToScheme(scheme))
	scheme.AddKnownTypes(GroupVersion, &Tank{}, &TankList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return scheme
}

// Definition is the CRD of the Tank.
func Definition() *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	report.Check(yaml.UnmarshalStrict(definition, crd))
	return crd
}
