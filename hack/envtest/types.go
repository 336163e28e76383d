// Package envtest is a small operator with a suite that uses envtest, as a project of kubebuilder has it.
package envtest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

// GroupVersion is that of the kinds of this package.
var GroupVersion = schema.GroupVersion{Group: "tanks.example.com", Version: "v1"}

// AddToScheme adds the kinds.
var AddToScheme = (&scheme.Builder{GroupVersion: GroupVersion}).Register(&Tank{}, &TankList{}).AddToScheme

// Tank is a kind whose operator keeps a ConfigMap with its size.
type Tank struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              TankSpec   `json:"spec"`
	Status            TankStatus `json:"status,omitempty"`
}

// TankSpec is what users want. A size of 0 is replaced by the webhook.
type TankSpec struct {
	Size int64 `json:"size,omitempty"`
}

// TankStatus is what the operator has done.
type TankStatus struct {
	Level int64 `json:"level,omitempty"`
}

// TankList is a list of tanks.
type TankList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Tank `json:"items"`
}

// DeepCopyObject makes it an object.
func (t *Tank) DeepCopyObject() runtime.Object {
	made := *t
	t.ObjectMeta.DeepCopyInto(&made.ObjectMeta)
	return &made
}

// DeepCopyObject makes it an object.
func (l *TankList) DeepCopyObject() runtime.Object {
	made := *l
	made.Items = nil
	for i := range l.Items {
		made.Items = append(made.Items, *l.Items[i].DeepCopyObject().(*Tank))
	}
	return &made
}
