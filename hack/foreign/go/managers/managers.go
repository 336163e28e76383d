// Package managers is the job of an operator: two managers with leader election, and a user of its custom resource.
package managers

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"pilotage.example/foreign/report"
	"pilotage.example/foreign/tanks"
)

const leaseName = "tanks"

// Run starts the managers one after the other and uses them.
func Run(ctx context.Context, job *report.Job) {
	environment := &envtest.Environment{
		UseExistingCluster: ptr.To(true),
		Config:             job.Config,
		Scheme:             tanks.Scheme(),
		CRDs:               []*apiextensionsv1.CustomResourceDefinition{tanks.Definition()},
		CRDInstallOptions:  envtest.CRDInstallOptions{CleanUpAfterUse: true, MaxTime: report.Within},
	}
	tanks.AddWebhooks(environment, job.Namespace)
	config, err := environment.Start()
	report.Check(err)
	live, err := client.NewWithWatch(config, client.Options{Scheme: environment.Scheme})
	report.Check(err)
	report.Check(live.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: job.Namespace}}))
	user := &user{job: job, live: live}
	user.waitUntilServed(ctx)
	serving, stopServing := context.WithCancel(ctx)
	webhooks := make(chan error, 1)
	go func() { webhooks <- tanks.WebhookServer(environment, environment.Scheme).Start(serving) }()
	user.hook(ctx)

	user.abandonLease(ctx)
	first := start(ctx, job, environment, "first")
	<-first.Elected()
	user.showLease(ctx, "first")
	second := start(ctx, job, environment, "second")
	user.fill(ctx)
	user.repair(ctx)
	user.conflict(ctx)
	user.ready(ctx)
	user.refuse(ctx)
	user.read(ctx, first)
	user.showEvents(ctx, 2)
	job.Show("the second is leader", isElected(second))

	first.stop()
	<-second.Elected()
	user.showLease(ctx, "second")
	user.drain(ctx)
	user.showEvents(ctx, 4)
	user.drainAll(ctx)
	second.stop()
	user.deleteWebhooks(ctx, environment)
	stopServing()
	report.Check(<-webhooks)
	report.Check(environment.Stop())
}

// running is a manager in its goroutine.
type running struct {
	ctrl.Manager
	cancel context.CancelFunc
	ended  chan error
}

func start(ctx context.Context, job *report.Job, environment *envtest.Environment, name string) *running {
	manager, err := ctrl.NewManager(environment.Config, ctrl.Options{
		Scheme:                        environment.Scheme,
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       job.Namespace,
		LeaderElectionLabels:          map[string]string{"leader": name},
		LeaderElectionReleaseOnCancel: true,
		RetryPeriod:                   ptr.To(100 * time.Millisecond),
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{job.Namespace: {}},
			ByObject: map[client.Object]cache.ByObject{
				&corev1.ConfigMap{}:  {Label: labels.SelectorFromSet(tanks.Labels)},
				&appsv1.Deployment{}: {Label: labels.SelectorFromSet(tanks.Labels)},
			},
		},
	})
	report.Check(err)
	report.Check(tanks.Setup(ctx, manager))
	ctx, cancel := context.WithCancel(ctx)
	started := &running{Manager: manager, cancel: cancel, ended: make(chan error, 1)}
	go func() { started.ended <- manager.Start(ctx) }()
	return started
}

func (r *running) stop() {
	r.cancel()
	report.Check(<-r.ended)
}

func isElected(manager ctrl.Manager) bool {
	select {
	case <-manager.Elected():
		return true
	default:
		return false
	}
}

// abandonLease leaves the lease of a leader that does not renew it any more.
func (u *user) abandonLease(ctx context.Context) {
	now := metav1.NowMicro()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: leaseName, Namespace: u.job.Namespace},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity:       ptr.To("stopped"),
			LeaseDurationSeconds: ptr.To(int32(1)),
			LeaseTransitions:     ptr.To(int32(7)),
			AcquireTime:          &now,
			RenewTime:            &now,
		},
	}
	report.Check(u.live.Create(ctx, lease))
}

// showLease prints who leads, by the label of the manager: the identity is another one in each run.
func (u *user) showLease(ctx context.Context, name string) {
	lease := &coordinationv1.Lease{}
	report.Until(ctx, name+" to lead", func(ctx context.Context) (bool, error) {
		err := u.live.Get(ctx, u.key(leaseName), lease)
		return lease.Labels["leader"] == name, err
	})
	if *lease.Spec.HolderIdentity != "stopped" {
		lease.Spec.HolderIdentity = ptr.To("<" + name + ">")
	}
	u.job.Show("lease", lease)
}
