// SPDX-License-Identifier: Apache-2.0

// kueue is Kueue's controllers, webhooks and scheduler as its release has them, for Jobs and JobSets only: its own
// program also holds the kinds of six more projects, and would need other versions of the Kubernetes libraries than
// ../kubemini, so that Go compiled all of them twice.
//
//	kueue --config FILE --kubeconfig FILE
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	configapi "sigs.k8s.io/kueue/apis/config/v1beta1"
	kueuealpha "sigs.k8s.io/kueue/apis/kueue/v1alpha1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta1"
	"sigs.k8s.io/kueue/pkg/cache"
	"sigs.k8s.io/kueue/pkg/config"
	"sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	_ "sigs.k8s.io/kueue/pkg/controller/jobs/job"
	_ "sigs.k8s.io/kueue/pkg/controller/jobs/jobset"
	"sigs.k8s.io/kueue/pkg/queue"
	"sigs.k8s.io/kueue/pkg/scheduler"
	"sigs.k8s.io/kueue/pkg/util/kubeversion"
	"sigs.k8s.io/kueue/pkg/webhooks"
)

func main() {
	file := flag.String("config", "", "Kueue's configuration")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler(), *file); err != nil {
		fmt.Fprintln(os.Stderr, "kueue:", err)
		os.Exit(1)
	}
}

func knownKinds() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, kueue.AddToScheme, kueuealpha.AddToScheme, configapi.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, jobframework.ForEachIntegration(func(_ string, of jobframework.IntegrationCallbacks) error {
		if of.AddToScheme == nil {
			return nil
		}
		return of.AddToScheme(scheme)
	})
}

func run(ctx context.Context, file string) error {
	scheme, err := knownKinds()
	if err != nil {
		return err
	}
	options, cfg, err := config.Load(scheme, file)
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), options)
	if err != nil {
		return err
	}
	known := cache.New(manager.GetClient())
	queues := queue.NewManager(manager.GetClient(), known)
	if err := setUp(ctx, manager, &cfg, known, queues); err != nil {
		return err
	}
	go queues.CleanUpOnContext(ctx)
	go known.CleanUpOnContext(ctx)
	return manager.Start(ctx)
}

func setUp(ctx context.Context, manager ctrl.Manager, cfg *configapi.Configuration, known *cache.Cache, queues *queue.Manager) error {
	frameworks := jobframework.WithEnabledFrameworks(cfg.Integrations.Frameworks)
	if err := indexer.Setup(ctx, manager.GetFieldIndexer()); err != nil {
		return err
	}
	if err := jobframework.SetupIndexes(ctx, manager.GetFieldIndexer(), frameworks); err != nil {
		return err
	}
	if name, err := core.SetupControllers(manager, queues, known, cfg); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if name, err := webhooks.Setup(manager); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	asks, err := discovery.NewDiscoveryClientForConfig(manager.GetConfig())
	if err != nil {
		return err
	}
	version := kubeversion.NewServerVersionFetcher(asks)
	if err := version.FetchServerVersion(); err != nil {
		return err
	}
	if err := jobframework.SetupControllers(ctx, manager, ctrl.Log, frameworks,
		jobframework.WithManageJobsWithoutQueueName(cfg.ManageJobsWithoutQueueName),
		jobframework.WithWaitForPodsReady(cfg.WaitForPodsReady), jobframework.WithKubeServerVersion(version),
		jobframework.WithManagerName(constants.KueueName), jobframework.WithLabelKeysToCopy(cfg.Integrations.LabelKeysToCopy),
		jobframework.WithCache(known), jobframework.WithQueues(queues)); err != nil {
		return err
	}
	if err := manager.AddReadyzCheck("readyz", manager.GetWebhookServer().StartedChecker()); err != nil {
		return err
	}
	return manager.Add(scheduler.New(queues, known, manager.GetClient(), manager.GetEventRecorderFor(constants.AdmissionName)))
}
