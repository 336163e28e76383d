package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Widget is that of bench/objects.py. Its copies are written out, as controller-gen writes them.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec    `json:"spec"`
	Status *Status `json:"status,omitempty"`
}

// Spec is what a user wants of a Widget.
type Spec struct {
	Size        int64             `json:"size"`
	Colour      string            `json:"colour"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Replicas    int64             `json:"replicas"`
	Paused      bool              `json:"paused"`
	Image       string            `json:"image"`
	Tags        []string          `json:"tags,omitempty"`
	Parts       []Part            `json:"parts,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
}

// Part is a part of a Widget.
type Part struct {
	Name     string  `json:"name"`
	Weight   int64   `json:"weight"`
	Material *string `json:"material,omitempty"`
}

// Status is the state of a Widget.
type Status struct {
	Phase      string             `json:"phase"`
	Ready      int64              `json:"ready"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// WidgetList is a list of Widgets.
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Widget `json:"items"`
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	version := schema.GroupVersion{Group: "bench.pilotage.dev", Version: "v1"}
	scheme.AddKnownTypes(version, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(scheme, version)
	return scheme
}

// DeepCopyInto copies all.
func (w *Widget) DeepCopyInto(out *Widget) {
	*out = *w
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	w.Spec.DeepCopyInto(&out.Spec)
	if w.Status != nil {
		out.Status = new(Status)
		w.Status.DeepCopyInto(out.Status)
	}
}

// DeepCopyObject implements runtime.Object.
func (w *Widget) DeepCopyObject() runtime.Object {
	out := new(Widget)
	w.DeepCopyInto(out)
	return out
}

// DeepCopyInto copies all.
func (s *Spec) DeepCopyInto(out *Spec) {
	*out = *s
	if s.Tags != nil {
		out.Tags = make([]string, len(s.Tags))
		copy(out.Tags, s.Tags)
	}
	if s.Parts != nil {
		out.Parts = make([]Part, len(s.Parts))
		for i := range s.Parts {
			out.Parts[i] = s.Parts[i]
			if s.Parts[i].Material != nil {
				out.Parts[i].Material = new(string)
				*out.Parts[i].Material = *s.Parts[i].Material
			}
		}
	}
	if s.Environment != nil {
		out.Environment = make(map[string]string, len(s.Environment))
		for key, value := range s.Environment {
			out.Environment[key] = value
		}
	}
}

// DeepCopyInto copies all.
func (s *Status) DeepCopyInto(out *Status) {
	*out = *s
	if s.Conditions != nil {
		out.Conditions = make([]metav1.Condition, len(s.Conditions))
		for i := range s.Conditions {
			s.Conditions[i].DeepCopyInto(&out.Conditions[i])
		}
	}
}

// DeepCopyObject implements runtime.Object.
func (l *WidgetList) DeepCopyObject() runtime.Object {
	out := &WidgetList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	if l.Items != nil {
		out.Items = make([]Widget, len(l.Items))
		for i := range l.Items {
			l.Items[i].DeepCopyInto(&out.Items[i])
		}
	}
	return out
}
