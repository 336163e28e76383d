package managers

import (
	"context"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"pilotage.example/foreign/report"
	"pilotage.example/foreign/tanks"
)

// user does what a user of the operator does, with a client that does not read from a cache.
type user struct {
	job  *report.Job
	live client.WithWatch
}

func (u *user) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: u.job.Namespace, Name: name}
}

func (u *user) tank(name string, size int32) *tanks.Tank {
	return &tanks.Tank{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: u.job.Namespace},
		Spec:       tanks.Spec{Size: size},
	}
}

func (u *user) waitUntilServed(ctx context.Context) {
	report.Until(ctx, "the custom resource", func(ctx context.Context) (bool, error) {
		err := u.live.List(ctx, &tanks.TankList{})
		return err == nil, err
	})
}

// showAll prints a Tank and what the controller made of it, once the controller has observed its newest generation
// and `reached` says that the objects are those to wait for.
func (u *user) showAll(ctx context.Context, label string, reached func(*tanks.Tank, *corev1.ConfigMap, *appsv1.Deployment) bool) {
	tank, settings, deployment := &tanks.Tank{}, &corev1.ConfigMap{}, &appsv1.Deployment{}
	report.Until(ctx, label, func(ctx context.Context) (bool, error) {
		for _, object := range []client.Object{tank, settings, deployment} {
			if err := u.live.Get(ctx, u.key("a"), object); err != nil {
				return false, err
			}
		}
		return tank.Status.ObservedGeneration == tank.Generation && reached(tank, settings, deployment), nil
	})
	for _, object := range []client.Object{tank, settings, deployment} {
		u.job.Show(label, object)
	}
	u.job.Show("are controlled", metav1.IsControlledBy(settings, tank) && metav1.IsControlledBy(deployment, tank))
}

// hook uses the webhooks, which a server may see a moment after they are installed.
func (u *user) hook(ctx context.Context) {
	hooked := u.tank(tanks.Hooked, 2)
	report.Until(ctx, "the webhooks", func(ctx context.Context) (bool, error) {
		hooked = u.tank(tanks.Hooked, 2)
		err := u.live.Create(ctx, hooked, client.DryRunAll)
		forbidden := u.live.Create(ctx, u.tank(tanks.Forbidden, 2), client.DryRunAll)
		return hooked.Spec.Replicas != nil && forbidden != nil, err
	})
	u.job.Show("defaulted by a webhook", hooked)
	u.job.Refused("refused by a webhook", u.live.Create(ctx, u.tank(tanks.Forbidden, 2)))
	for _, kind := range []client.ObjectList{
		&admissionregistrationv1.MutatingWebhookConfigurationList{}, &admissionregistrationv1.ValidatingWebhookConfigurationList{},
	} {
		report.Check(u.live.List(ctx, kind, client.MatchingFields{"metadata.name": tanks.GroupVersion.Group}))
		u.job.Show("webhook configuration", kind)
	}
}

// deleteWebhooks deletes the configurations, which envtest leaves there.
func (u *user) deleteWebhooks(ctx context.Context, environment *envtest.Environment) {
	for _, configuration := range environment.WebhookInstallOptions.MutatingWebhooks {
		report.Check(u.live.Delete(ctx, configuration))
	}
	for _, configuration := range environment.WebhookInstallOptions.ValidatingWebhooks {
		report.Check(u.live.Delete(ctx, configuration))
	}
}

// fill creates a Tank and changes it.
func (u *user) fill(ctx context.Context) {
	tank := u.tank("a", 2)
	report.Check(u.live.Create(ctx, tank))
	u.showAll(ctx, "filled", func(_ *tanks.Tank, settings *corev1.ConfigMap, _ *appsv1.Deployment) bool {
		return settings.Data["size"] == "2"
	})
	patch := client.RawPatch(types.JSONPatchType, []byte(`[{"op": "replace", "path": "/spec/size", "value": 4}]`))
	report.Check(u.live.Patch(ctx, tank, patch))
	u.showAll(ctx, "resized", func(_ *tanks.Tank, settings *corev1.ConfigMap, deployment *appsv1.Deployment) bool {
		return settings.Data["size"] == "4" && deployment.Spec.Template.Spec.Containers[0].Env[0].Value == "4"
	})
}

// repair deletes what the controller must create again, and checks that an apply without changes writes nothing.
func (u *user) repair(ctx context.Context) {
	settings, before := &corev1.ConfigMap{}, &appsv1.Deployment{}
	report.Check(u.live.Get(ctx, u.key("a"), settings))
	report.Check(u.live.Get(ctx, u.key("a"), before))
	preconditions := client.Preconditions{UID: &settings.UID, ResourceVersion: &settings.ResourceVersion}
	report.Check(u.live.Delete(ctx, settings, preconditions))
	report.Until(ctx, "the ConfigMap to be created again", func(ctx context.Context) (bool, error) {
		created := &corev1.ConfigMap{}
		err := u.live.Get(ctx, u.key("a"), created)
		return created.UID != settings.UID, err
	})
	u.job.Refused("the old ConfigMap", u.live.Delete(ctx, settings, preconditions))
	tank := u.tank("a", 0)
	patch := fmt.Sprintf(`{"metadata": {"annotations": {%q: "yes"}}}`, tanks.Copied)
	report.Check(u.live.Patch(ctx, tank, client.RawPatch(types.MergePatchType, []byte(patch))))
	u.showAll(ctx, "annotated", func(_ *tanks.Tank, settings *corev1.ConfigMap, _ *appsv1.Deployment) bool {
		return settings.Data["copied"] == "yes"
	})
	after := &appsv1.Deployment{}
	report.Check(u.live.Get(ctx, u.key("a"), after))
	u.job.Show("the Deployment is unchanged", before.ResourceVersion == after.ResourceVersion)
}

// conflict scales the Deployment of the controller, which applies its own replicas again.
func (u *user) conflict(ctx context.Context) {
	applied := appsv1apply.Deployment("a", u.job.Namespace).WithSpec(appsv1apply.DeploymentSpec().WithReplicas(3))
	u.job.Refused("a conflict", u.live.Apply(ctx, applied, client.FieldOwner("user")))
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: u.job.Namespace}}
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
	report.Check(u.live.SubResource("scale").Update(ctx, deployment, client.WithSubResourceBody(scale)))
	u.showAll(ctx, "scaled back", func(_ *tanks.Tank, _ *corev1.ConfigMap, deployment *appsv1.Deployment) bool {
		return *deployment.Spec.Replicas == 1
	})
	tank := u.tank("a", 0)
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"replicas": 2}}`))
	report.Check(u.live.SubResource("scale").Patch(ctx, tank, patch, client.WithSubResourceBody(&autoscalingv1.Scale{})))
	u.showAll(ctx, "scaled", func(_ *tanks.Tank, _ *corev1.ConfigMap, deployment *appsv1.Deployment) bool {
		return *deployment.Spec.Replicas == 2
	})
	current := &autoscalingv1.Scale{}
	report.Check(u.live.SubResource("scale").Get(ctx, tank, current))
	u.job.Show("scale", current)
}

// ready writes the status of the Deployment, as the controller of Deployments would.
func (u *user) ready(ctx context.Context) {
	deployment := &appsv1.Deployment{}
	report.Check(u.live.Get(ctx, u.key("a"), deployment))
	deployment.Status.Replicas, deployment.Status.ReadyReplicas = 2, 2
	deployment.Status.ObservedGeneration = deployment.Generation
	report.Check(u.live.Status().Update(ctx, deployment))
	u.showAll(ctx, "ready", func(tank *tanks.Tank, _ *corev1.ConfigMap, _ *appsv1.Deployment) bool {
		return meta.IsStatusConditionTrue(tank.Status.Conditions, "Ready") && tank.Status.Replicas == 2
	})
}

// refuse sends what a server must refuse.
func (u *user) refuse(ctx context.Context) {
	u.job.Refused("too large", u.live.Create(ctx, u.tank("large", 20)))
	u.job.Refused("there already", u.live.Create(ctx, u.tank("a", 2)))
	mode := u.tank("mode", 2)
	mode.Spec.Mode = "slow"
	u.job.Refused("a wrong mode", u.live.Create(ctx, mode, client.DryRunAll))
	stale := &tanks.Tank{}
	report.Check(u.live.Get(ctx, u.key("a"), stale))
	stale.ResourceVersion = "1"
	u.job.Refused("a stale update", u.live.Update(ctx, stale))
	report.Check(u.live.Get(ctx, u.key("a"), stale))
	stale.Spec.Size = 1
	u.job.Refused("a smaller tank", u.live.Update(ctx, stale))
	report.Check(u.live.Get(ctx, u.key("a"), stale))
	stale.Spec.Mode = "fast"
	u.job.Refused("another mode", u.live.Update(ctx, stale))
	unknown := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(2), "colour": "red"}}}
	unknown.SetGroupVersionKind(tanks.GroupVersion.WithKind("Tank"))
	unknown.SetName("unknown")
	unknown.SetNamespace(u.job.Namespace)
	strict := client.WithFieldValidation(u.live, metav1.FieldValidationStrict)
	u.job.Refused("an unknown field", strict.Create(ctx, unknown))
	u.job.Refused("no such tank", u.live.Get(ctx, u.key("none"), &tanks.Tank{}))
	u.job.Refused("no such field", u.live.List(ctx, &tanks.TankList{}, client.MatchingFields{"spec.size": "2"}))
}

// read lists and watches in the ways of controller-runtime.
func (u *user) read(ctx context.Context, manager ctrl.Manager) {
	inside := client.InNamespace(u.job.Namespace)
	cached := &tanks.TankList{}
	report.Check(manager.GetClient().List(ctx, cached, inside, client.MatchingFields{tanks.ByMode: "safe"}))
	u.job.Show("cached by mode", len(cached.Items))
	settings := &corev1.ConfigMapList{}
	report.Check(manager.GetClient().List(ctx, settings, inside, client.MatchingFields{tanks.ByController: "a"}))
	u.job.Show("cached by controller", settings.Items[0].Data)
	selected := &tanks.TankList{}
	report.Check(u.live.List(ctx, selected, inside, client.MatchingFields{"spec.mode": "fast"}))
	u.job.Show("selected by mode", len(selected.Items))

	events, err := u.live.Watch(ctx, &corev1.ConfigMapList{}, inside, client.MatchingLabels{"set": "pages"})
	report.Check(err)
	for number := range 5 {
		page := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("page-%d", number), Namespace: u.job.Namespace, Labels: map[string]string{"set": "pages"},
		}}
		report.Check(u.live.Create(ctx, page))
	}
	page := &metav1.PartialObjectMetadataList{}
	page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	for more := true; more; more = page.Continue != "" {
		report.Check(u.live.List(ctx, page, inside, client.MatchingLabels{"set": "pages"}, client.Limit(2), client.Continue(page.Continue)))
		var names []string
		for _, item := range page.Items {
			names = append(names, item.Name)
		}
		u.job.Show("page", []any{names, ptr.Deref(page.RemainingItemCount, 0), page.Items[0]})
	}
	report.Check(u.live.DeleteAllOf(ctx, &corev1.ConfigMap{}, inside, client.MatchingLabels{"set": "pages"}))
	u.showWatch(events, 10)
}

func (u *user) showWatch(events watch.Interface, count int) {
	defer events.Stop()
	for range count {
		select {
		case event := <-events.ResultChan():
			u.job.Show("event", []any{event.Type, event.Object})
		case <-time.After(report.Within):
			report.Check(fmt.Errorf("no event of the watch within %s", report.Within))
		}
	}
}

// drain deletes one Tank that the first manager made, and one that the second makes.
func (u *user) drain(ctx context.Context) {
	report.Check(u.live.Create(ctx, u.tank("b", 3)))
	report.Until(ctx, "the second manager", func(ctx context.Context) (bool, error) {
		tank := &tanks.Tank{}
		err := u.live.Get(ctx, u.key("b"), tank)
		return tank.Status.ObservedGeneration == 1, err
	})
	u.showEvents(ctx, 3)
	report.Check(u.live.Delete(ctx, u.tank("a", 0)))
	for _, object := range []client.Object{&tanks.Tank{}, &corev1.ConfigMap{}, &appsv1.Deployment{}} {
		report.Until(ctx, "the drain", func(ctx context.Context) (bool, error) {
			err := u.live.Get(ctx, u.key("a"), object)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
	}
	report.Check(u.live.Get(ctx, u.key("b"), &corev1.ConfigMap{}))
}

// drainAll leaves no Tank with a finalizer, which would keep the definition.
func (u *user) drainAll(ctx context.Context) {
	report.Check(u.live.DeleteAllOf(ctx, &tanks.Tank{}, client.InNamespace(u.job.Namespace)))
	report.Until(ctx, "all tanks to be drained", func(ctx context.Context) (bool, error) {
		left := &tanks.TankList{}
		err := u.live.List(ctx, left)
		return len(left.Items) == 0, err
	})
}

// showEvents waits for a number of different events about Tanks and prints them in the order of their notes. A
// reconciler with a cache that is behind may record one twice.
func (u *user) showEvents(ctx context.Context, count int) {
	var lines []string
	report.Until(ctx, fmt.Sprintf("%d events", count), func(ctx context.Context) (bool, error) {
		lines = nil
		found := &eventsv1.EventList{}
		err := u.live.List(ctx, found, client.InNamespace(u.job.Namespace))
		for _, event := range found.Items {
			if event.Regarding.Kind == "Tank" {
				related := ptr.Deref(event.Related, corev1.ObjectReference{})
				lines = append(lines, fmt.Sprint(event.Note, " ", event.Type, " ", event.Reason, " ", event.Action, " ",
					event.Regarding.Name, " ", related.Kind, " ", event.ReportingController))
			}
		}
		slices.Sort(lines)
		lines = slices.Compact(lines)
		return len(lines) >= count, err
	})
	u.job.Show("events", lines)
}
