// SPDX-License-Identifier: Apache-2.0

// kubemini is the whole of a Kubernetes for tests in one file: etcd, the API server, the controllers, the
// scheduler, kubectl, a kubelet, kwok for nodes that only pretend, and a name server for pods. All of it comes
// through Go's modules at the versions that go.mod names.
//
//	kubemini TOOL [ARGUMENT...]
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/pkg/controller/job"
	kwokcrd "sigs.k8s.io/kwok/kustomize/crd"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	kwoksignals "sigs.k8s.io/kwok/pkg/utils/signals"
)

// A tool finds its own arguments in os.Args[1:] and returns the exit status.
var tools = map[string]func() int{
	"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
	"compact":                 compact,
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": runControllers,
	"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	"kubelet":                 func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) },
	"kubectl":                 runKubectl,
	"kwok":                    runKwok,
	"kwok-crds":               printKwokCRDs,
	"dns":                     runDNS,
	"forward":                 forward,
}

func failed(what string, err error) int {
	fmt.Fprintf(os.Stderr, "kubemini %s: %v\n", what, err)
	return 1
}

// A failed pod of a Job is replaced after a second, not after ten: tests wait for it.
func runControllers() int {
	job.SyncJobBatchPeriod = 100 * time.Millisecond
	job.DefaultJobPodFailureBackOff = time.Second
	job.MaxJobPodFailureBackOff = 5 * time.Second
	return cli.Run(controllers.NewControllerManagerCommand())
}

func runKubectl() int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
		return 1
	}
	return 0
}

// kwok takes its stages from the context of its command, so --config is read before the command is made.
func runKwok() int {
	flags := pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	flags.ParseErrorsWhitelist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ := kwoklog.InitFlags(kwoksignals.SetupSignalContext(), flags)
	ctx, err := kwokconfig.InitFlags(ctx, flags)
	if err != nil {
		return failed("kwok", err)
	}
	command := kwok.NewCommand(ctx)
	command.Version = "" // the components above have a flag of that name and another kind
	command.PersistentFlags().AddFlagSet(flags)
	if err := command.ExecuteContext(ctx); err != nil {
		return failed("kwok", err)
	}
	return 0
}

// The kinds that kwok follows at run time: what `kubectl logs` answers for a pod.
func printKwokCRDs() int {
	fmt.Printf("%s\n", kwokcrd.Logs)
	return 0
}

// compact ADDRESS forgets every revision of etcd but the last one.
func compact() int {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client, err := clientv3.New(clientv3.Config{Endpoints: os.Args[1:], DialTimeout: 5 * time.Second})
	if err != nil {
		return failed("compact", err)
	}
	defer client.Close()
	answer, err := client.Get(ctx, "/registry/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err == nil {
		_, err = client.Compact(ctx, answer.Header.Revision, clientv3.WithCompactPhysical())
	}
	if err != nil {
		return failed("compact", err)
	}
	fmt.Println(answer.Header.Revision)
	return 0
}

// forward FROM TO carries each connection to FROM on to TO: the address that pods know of the API server.
func forward() int {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: kubemini forward FROM TO")
		return 64
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		return failed("forward", err)
	}
	for {
		from, err := listener.Accept()
		if err != nil {
			return failed("forward", err)
		}
		go carry(from)
	}
}

func carry(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", os.Args[2])
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(from, to)
}

func main() {
	if len(os.Args) > 1 {
		if run, ok := tools[os.Args[1]]; ok {
			os.Args = os.Args[1:]
			os.Exit(run())
		}
	}
	names := make([]string, 0, len(tools))
	for name := range tools {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Fprintf(os.Stderr, "usage: kubemini TOOL [ARGUMENT...]\ntools: %s\n", strings.Join(names, " "))
	os.Exit(64)
}
