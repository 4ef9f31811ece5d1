// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const zone = ".svc.cluster.local."

// runDNS: `dns KUBECONFIG ADDRESS` answers names of Services and of the pods of headless ones over UDP. It asks
// the API server each time, so that no answer is older than the question; other names do not exist.
func runDNS() int {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: kubemini dns KUBECONFIG ADDRESS")
		return 64
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		return failed("dns", err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return failed("dns", err)
	}
	socket, err := net.ListenPacket("udp4", os.Args[2])
	if err != nil {
		return failed("dns", err)
	}
	for {
		question := make([]byte, 1232)
		size, from, err := socket.ReadFrom(question)
		if err != nil {
			return failed("dns", err)
		}
		go func() {
			if said := reply(client, question[:size]); said != nil {
				_, _ = socket.WriteTo(said, from)
			}
		}()
	}
}

// reply returns nil for what is no question.
func reply(client kubernetes.Interface, packet []byte) []byte {
	var asked dnsmessage.Message
	if asked.Unpack(packet) != nil || asked.Response || len(asked.Questions) != 1 {
		return nil
	}
	question := asked.Questions[0]
	answer := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: asked.ID, Response: true, Authoritative: true, RecursionDesired: asked.RecursionDesired},
		Questions: asked.Questions,
	}
	addresses, err := addressesOf(client, strings.ToLower(question.Name.String()))
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, question.Name, err)
		answer.RCode = dnsmessage.RCodeServerFailure
	case len(addresses) == 0:
		answer.RCode = dnsmessage.RCodeNameError
	case question.Type == dnsmessage.TypeA:
		for _, address := range addresses {
			answer.Answers = append(answer.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: 1},
				Body:   &dnsmessage.AResource{A: [4]byte(address)},
			})
		}
	}
	said, err := answer.Pack()
	if err != nil {
		return nil
	}
	return said
}

// addressesOf knows SERVICE.NAMESPACE.svc and HOSTNAME.SERVICE.NAMESPACE.svc.
func addressesOf(client kubernetes.Interface, name string) ([]net.IP, error) {
	inside, ours := strings.CutSuffix(name, zone)
	labels := strings.Split(inside, ".")
	host := ""
	if len(labels) == 3 {
		host, labels = labels[0], labels[1:]
	}
	if !ours || len(labels) != 2 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
	defer cancel()
	services, err := client.CoreV1().Services(labels[1]).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + labels[0]})
	if err != nil || len(services.Items) == 0 {
		return nil, err
	}
	if address := services.Items[0].Spec.ClusterIP; address != "None" {
		return inFours(host == "", address), nil
	}
	parts, err := client.DiscoveryV1().EndpointSlices(labels[1]).List(ctx,
		metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + labels[0]})
	if err != nil {
		return nil, err
	}
	var found []net.IP
	for _, part := range parts.Items {
		for _, end := range part.Endpoints {
			ready := end.Conditions.Ready == nil || *end.Conditions.Ready
			named := host == "" || end.Hostname != nil && *end.Hostname == host
			found = append(found, inFours(ready && named, end.Addresses...)...)
		}
	}
	return found, nil
}

// inFours keeps the IPv4 addresses, if they are wanted at all.
func inFours(wanted bool, texts ...string) []net.IP {
	var found []net.IP
	for _, text := range texts {
		if address := net.ParseIP(text).To4(); wanted && address != nil {
			found = append(found, address)
		}
	}
	return found
}
