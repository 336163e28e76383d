package envtest

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const within = 30 * time.Second

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	if err := AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func definition() *apiextensionsv1.CustomResourceDefinition {
	keep := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "tanks.tanks.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: GroupVersion.Group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Tank", ListKind: "TankList", Plural: "tanks", Singular: "tank"},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: GroupVersion.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &keep,
				}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}

func webhooks() envtest.WebhookInstallOptions {
	mutate, validate := "/mutate-tanks-example-com-v1-tank", "/validate-tanks-example-com-v1-tank"
	none, fail := admissionv1.SideEffectClassNone, admissionv1.Fail
	rules := []admissionv1.RuleWithOperations{{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule:       admissionv1.Rule{APIGroups: []string{GroupVersion.Group}, APIVersions: []string{"v1"}, Resources: []string{"tanks"}},
	}}
	service := func(path string) admissionv1.WebhookClientConfig {
		return admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Name: "webhook", Namespace: "default", Path: &path}}
	}
	return envtest.WebhookInstallOptions{
		MutatingWebhooks: []*admissionv1.MutatingWebhookConfiguration{{
			ObjectMeta: metav1.ObjectMeta{Name: "tanks"},
			Webhooks: []admissionv1.MutatingWebhook{{
				Name: "default.tanks.example.com", ClientConfig: service(mutate), Rules: rules, FailurePolicy: &fail,
				SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			}},
		}},
		ValidatingWebhooks: []*admissionv1.ValidatingWebhookConfiguration{{
			ObjectMeta: metav1.ObjectMeta{Name: "tanks"},
			Webhooks: []admissionv1.ValidatingWebhook{{
				Name: "validate.tanks.example.com", ClientConfig: service(validate), Rules: rules, FailurePolicy: &fail,
				SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			}},
		}},
	}
}

func started(t *testing.T) (*envtest.Environment, client.Client) {
	t.Helper()
	began := time.Now()
	environment := &envtest.Environment{CRDs: []*apiextensionsv1.CustomResourceDefinition{definition()}, WebhookInstallOptions: webhooks()}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("envtest started in %.2f s", time.Since(began).Seconds())
	t.Cleanup(func() {
		began := time.Now()
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
		t.Logf("envtest stopped in %.2f s", time.Since(began).Seconds())
	})
	options := environment.WebhookInstallOptions
	severalManagers := true // one for each test, and controllers with the same names
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Metrics:    server.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: &severalManagers},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: options.LocalServingHost, Port: options.LocalServingPort, CertDir: options.LocalServingCertDir,
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	own := Webhook{}
	manager.GetWebhookServer().Register("/mutate-tanks-example-com-v1-tank", admission.WithDefaulter(manager.GetScheme(), own))
	manager.GetWebhookServer().Register("/validate-tanks-example-com-v1-tank", admission.WithValidator(manager.GetScheme(), own))
	if err := (&Reconciler{manager.GetClient()}).SetupWithManager(manager); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- manager.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	live, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the webhook server", func() bool { return manager.GetWebhookServer().StartedChecker()(nil) == nil })
	return environment, live
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, within, true, func(context.Context) (bool, error) {
		return holds(), nil
	})
	if err != nil {
		t.Fatalf("not within %s: %s", within, what)
	}
}

func TestOperator(t *testing.T) {
	environment, live := started(t)
	ctx := t.Context()
	tank := &Tank{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}}
	if err := live.Create(ctx, tank); err != nil {
		t.Fatal(err)
	}
	if tank.Spec.Size != 3 {
		t.Errorf("the webhook has not set the size: %d", tank.Spec.Size)
	}
	large := &Tank{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "default"}, Spec: TankSpec{Size: 101}}
	if err := live.Create(ctx, large); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "too large") {
		t.Errorf("the webhook has not refused it: %v", err)
	}
	content := &corev1.ConfigMap{}
	eventually(t, "the ConfigMap of the tank, and its status", func() bool {
		return live.Get(ctx, client.ObjectKeyFromObject(tank), content) == nil &&
			live.Get(ctx, client.ObjectKeyFromObject(tank), tank) == nil && tank.Status.Level == 3
	})
	if content.Data["size"] != "3" || !metav1.IsControlledBy(content, tank) {
		t.Errorf("the ConfigMap is not that of the tank: %v", content)
	}
	user, err := environment.AddUser(envtest.User{Name: "reader", Groups: []string{"readers"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := client.New(user.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := stranger.Get(ctx, client.ObjectKeyFromObject(tank), tank); !apierrors.IsForbidden(err) {
		t.Errorf("a user without rights may read: %v", err)
	}
	kubectl, err := environment.ControlPlane.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	command, err := kubectl.Kubectl()
	if err != nil {
		t.Fatal(err)
	}
	output, _, err := command.Run("get", "tanks.tanks.example.com", "a", "-o", "jsonpath={.status.level}")
	if err != nil {
		t.Fatal(err)
	}
	if level, err := io.ReadAll(output); err != nil || string(level) != "3" {
		t.Errorf("kubectl shows the level %q: %v", level, err)
	}
}

func TestWorkloads(t *testing.T) {
	if os.Getenv("PILOTAGE_WORKLOADS") == "" {
		t.Skip("envtest has no workloads; PILOTAGE_WORKLOADS=1 is for the assets of Pilotage")
	}
	_, live := started(t)
	ctx := t.Context()
	labels := map[string]string{"app": "web"}
	replicas := int32(3)
	web := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}
	if err := live.Create(ctx, web); err != nil {
		t.Fatal(err)
	}
	eventually(t, "three ready Pods", func() bool {
		return live.Get(ctx, client.ObjectKeyFromObject(web), web) == nil && web.Status.ReadyReplicas == 3
	})
	tank := &Tank{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}}
	if err := live.Create(ctx, tank); err != nil {
		t.Fatal(err)
	}
	content := &corev1.ConfigMap{}
	eventually(t, "the ConfigMap", func() bool { return live.Get(ctx, client.ObjectKeyFromObject(tank), content) == nil })
	if err := live.Delete(ctx, tank); err != nil {
		t.Fatal(err)
	}
	eventually(t, "garbage collection", func() bool {
		return apierrors.IsNotFound(live.Get(ctx, client.ObjectKeyFromObject(tank), content))
	})
}
