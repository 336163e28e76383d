package tanks

import (
	"context"
	"errors"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const (
	mutatePath   = "/mutate"
	validatePath = "/validate"
	// Hooked is the name of a Tank that the webhooks change, Forbidden that of one that they refuse.
	Hooked, Forbidden = "hooked", "forbidden"
)

// hooks sets a default of Tanks and refuses some.
type hooks struct{}

// Default implements admission.Defaulter.
func (hooks) Default(_ context.Context, tank *Tank) error {
	if tank.Name == Hooked && tank.Spec.Replicas == nil {
		tank.Spec.Replicas = ptr.To(int32(3))
	}
	return nil
}

// ValidateCreate implements admission.Validator.
func (hooks) ValidateCreate(_ context.Context, tank *Tank) (admission.Warnings, error) {
	if tank.Name == Forbidden {
		return nil, errors.New("no tank has this name")
	}
	return nil, nil
}

// ValidateUpdate implements admission.Validator.
func (hooks) ValidateUpdate(_ context.Context, old, tank *Tank) (admission.Warnings, error) {
	if old.Spec.Mode != tank.Spec.Mode {
		return nil, errors.New("the mode does not change")
	}
	return nil, nil
}

// ValidateDelete implements admission.Validator.
func (hooks) ValidateDelete(context.Context, *Tank) (admission.Warnings, error) {
	return nil, nil
}

// AddWebhooks adds the webhook configurations to what an environment installs, for the Tanks of a namespace.
func AddWebhooks(environment *envtest.Environment, namespace string) {
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{GroupVersion.Group}, APIVersions: []string{GroupVersion.Version}, Resources: []string{"tanks"},
		},
	}}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}}
	service := func(path string) admissionregistrationv1.WebhookClientConfig { // envtest replaces it by a URL of its own
		return admissionregistrationv1.WebhookClientConfig{
			Service: &admissionregistrationv1.ServiceReference{Name: "tanks", Namespace: namespace, Path: &path},
		}
	}
	sideEffects := ptr.To(admissionregistrationv1.SideEffectClassNone)
	metadata := metav1.ObjectMeta{Name: GroupVersion.Group}
	options := &environment.WebhookInstallOptions
	options.MutatingWebhooks = []*admissionregistrationv1.MutatingWebhookConfiguration{{
		ObjectMeta: metadata,
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "default." + GroupVersion.Group, ClientConfig: service(mutatePath), Rules: rules, SideEffects: sideEffects,
			NamespaceSelector: selector, AdmissionReviewVersions: []string{"v1"},
		}},
	}}
	options.ValidatingWebhooks = []*admissionregistrationv1.ValidatingWebhookConfiguration{{
		ObjectMeta: metadata,
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "check." + GroupVersion.Group, ClientConfig: service(validatePath), Rules: rules, SideEffects: sideEffects,
			NamespaceSelector: selector, AdmissionReviewVersions: []string{"v1"},
		}},
	}}
}

// WebhookServer serves the webhooks at the address that an environment has installed.
func WebhookServer(environment *envtest.Environment, scheme *runtime.Scheme) webhook.Server {
	options := environment.WebhookInstallOptions
	server := webhook.NewServer(webhook.Options{
		Host: options.LocalServingHost, Port: options.LocalServingPort, CertDir: options.LocalServingCertDir,
	})
	server.Register(mutatePath, admission.WithDefaulter(scheme, hooks{}))
	server.Register(validatePath, admission.WithValidator(scheme, hooks{}))
	return server
}
