package envtest

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Reconciler keeps a ConfigMap for each Tank.
type Reconciler struct {
	client.Client
}

// Reconcile writes the ConfigMap and the status.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	tank := &Tank{}
	if err := r.Get(ctx, request.NamespacedName, tank); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	content := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: tank.Name, Namespace: tank.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, content, func() error {
		content.Data = map[string]string{"size": strconv.FormatInt(tank.Spec.Size, 10)}
		return controllerutil.SetControllerReference(tank, content, r.Scheme())
	})
	if err != nil || tank.Status.Level == tank.Spec.Size {
		return ctrl.Result{}, err
	}
	tank.Status.Level = tank.Spec.Size
	return ctrl.Result{}, r.Status().Update(ctx, tank)
}

// SetupWithManager adds the controller.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).For(&Tank{}).Owns(&corev1.ConfigMap{}).Complete(r)
}

// Webhook sets the default of the size, and refuses sizes above 100.
type Webhook struct{}

// Default sets the size.
func (Webhook) Default(_ context.Context, tank *Tank) error {
	if tank.Spec.Size == 0 {
		tank.Spec.Size = 3
	}
	return nil
}

// ValidateCreate refuses large tanks.
func (Webhook) ValidateCreate(_ context.Context, tank *Tank) (admission.Warnings, error) {
	if tank.Spec.Size > 100 {
		return nil, fmt.Errorf("a tank of size %d is too large", tank.Spec.Size)
	}
	return []string{"tanks leak"}, nil
}

// ValidateUpdate accepts everything.
func (Webhook) ValidateUpdate(context.Context, *Tank, *Tank) (admission.Warnings, error) {
	return nil, nil
}

// ValidateDelete accepts everything.
func (Webhook) ValidateDelete(context.Context, *Tank) (admission.Warnings, error) {
	return nil, nil
}
