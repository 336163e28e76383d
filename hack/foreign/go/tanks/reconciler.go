package tanks

import (
	"context"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	finalizer = "tanks.go.example.com/drain"
	owner     = "tank-controller"
	// Copied is an annotation that the controller copies to the ConfigMap.
	Copied = "tanks.go.example.com/copied"
	// ByController is the field index of ConfigMaps by the Tank that controls them.
	ByController = "metadata.controller"
	// ByMode is the field index of Tanks by their mode.
	ByMode = "spec.mode"
)

// Labels are on everything that belongs to a Tank.
var Labels = map[string]string{"app": "tank"}

// Reconciler creates a ConfigMap and applies a Deployment for each Tank.
type Reconciler struct {
	client.Client
	Scheme *runtime.Scheme
	Events events.EventRecorder
	// CoreEvents records events of the group that programs used before events.k8s.io.
	CoreEvents record.EventRecorder
}

// Setup adds the controller and its indexes to a manager.
func Setup(ctx context.Context, manager ctrl.Manager) error {
	indexer := manager.GetFieldIndexer()
	if err := indexer.IndexField(ctx, &Tank{}, ByMode, func(object client.Object) []string {
		return []string{object.(*Tank).Spec.Mode}
	}); err != nil {
		return err
	}
	if err := indexer.IndexField(ctx, &corev1.ConfigMap{}, ByController, func(object client.Object) []string {
		if controller := metav1.GetControllerOf(object); controller != nil {
			return []string{controller.Name}
		}
		return nil
	}); err != nil {
		return err
	}
	reconciler := &Reconciler{
		Client:     manager.GetClient(),
		Scheme:     manager.GetScheme(),
		Events:     manager.GetEventRecorder(owner),
		CoreEvents: manager.GetEventRecorderFor(owner), //nolint:staticcheck // old programs use it
	}
	return ctrl.NewControllerManagedBy(manager).
		For(&Tank{}).
		Owns(&corev1.ConfigMap{}).
		Owns(&appsv1.Deployment{}).
		WithOptions(controller.Options{SkipNameValidation: ptr.To(true)}). // there are two managers in this process
		Complete(reconciler)
}

// Reconcile makes the cluster as the Tank wants it.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	tank := &Tank{}
	if err := r.Get(ctx, request.NamespacedName, tank); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !tank.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.drain(ctx, tank)
	}
	if old := tank.DeepCopyObject().(*Tank); controllerutil.AddFinalizer(tank, finalizer) {
		patch := client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})
		if err := r.Patch(ctx, tank, patch); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.fill(ctx, tank); err != nil {
		return ctrl.Result{}, err
	}
	deployment, err := r.deploy(ctx, tank)
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.report(ctx, tank, deployment)
}

func (r *Reconciler) fill(ctx context.Context, tank *Tank) error {
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: tank.Name, Namespace: tank.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, settings, func() error {
		settings.Labels = Labels
		settings.Data = map[string]string{"size": strconv.Itoa(int(tank.Spec.Size)), "copied": tank.Annotations[Copied]}
		return controllerutil.SetControllerReference(tank, settings, r.Scheme)
	})
	return err
}

func (r *Reconciler) deploy(ctx context.Context, tank *Tank) (*appsv1.Deployment, error) {
	labels := map[string]string{"tank": tank.Name}
	reference := metav1apply.OwnerReference().WithAPIVersion(GroupVersion.String()).WithKind("Tank").
		WithName(tank.Name).WithUID(tank.UID).WithController(true).WithBlockOwnerDeletion(true)
	container := corev1apply.Container().WithName("pump").WithImage("registry.k8s.io/pause:3.10").
		WithPorts(corev1apply.ContainerPort().WithName("http").WithContainerPort(80)).
		WithEnv(corev1apply.EnvVar().WithName("SIZE").WithValue(strconv.Itoa(int(tank.Spec.Size))))
	applied := appsv1apply.Deployment(tank.Name, tank.Namespace).WithLabels(Labels).WithOwnerReferences(reference).
		WithSpec(appsv1apply.DeploymentSpec().WithReplicas(ptr.Deref(tank.Spec.Replicas, 1)).
			WithSelector(metav1apply.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1apply.PodTemplateSpec().WithLabels(labels).
				WithSpec(corev1apply.PodSpec().WithContainers(container))))
	if err := r.Apply(ctx, applied, client.FieldOwner(owner), client.ForceOwnership); err != nil {
		return nil, err
	}
	deployment := &appsv1.Deployment{}
	err := r.Get(ctx, client.ObjectKeyFromObject(tank), deployment)
	return deployment, client.IgnoreNotFound(err) // the cache may be behind the apply
}

func (r *Reconciler) report(ctx context.Context, tank *Tank, deployment *appsv1.Deployment) error {
	old := tank.DeepCopyObject().(*Tank)
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Filling", Message: "no replica is ready"}
	if deployment.Status.ReadyReplicas > 0 {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionTrue, "Filled", "replicas are ready"
	}
	ready.ObservedGeneration = tank.Generation
	was := meta.FindStatusCondition(old.Status.Conditions, "Ready")
	meta.SetStatusCondition(&tank.Status.Conditions, ready)
	tank.Status.ObservedGeneration = tank.Generation
	tank.Status.Replicas = deployment.Status.ReadyReplicas
	if err := r.Status().Patch(ctx, tank, client.MergeFrom(old)); err != nil {
		return err
	}
	if was == nil || was.Reason != ready.Reason {
		r.Events.Eventf(tank, deployment, corev1.EventTypeNormal, ready.Reason, "Reconcile", "tank %s: %s", tank.Name, ready.Message)
	}
	return nil
}

// drain deletes what belongs to the Tank, for a server without garbage collection, and releases it.
func (r *Reconciler) drain(ctx context.Context, tank *Tank) error {
	if !controllerutil.ContainsFinalizer(tank, finalizer) {
		return nil
	}
	r.CoreEvents.Eventf(tank, corev1.EventTypeWarning, "Draining", "tank %s is drained", tank.Name)
	metadata := metav1.ObjectMeta{Name: tank.Name, Namespace: tank.Namespace}
	for _, object := range []client.Object{&corev1.ConfigMap{ObjectMeta: metadata}, &appsv1.Deployment{ObjectMeta: metadata}} {
		if err := r.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	old := tank.DeepCopyObject().(*Tank)
	controllerutil.RemoveFinalizer(tank, finalizer)
	return client.IgnoreNotFound(r.Patch(ctx, tank, client.MergeFrom(old)))
}
