// SPDX-License-Identifier: Apache-2.0

// faults - a proxy that breaks things on purpose, in front of a real server.
//
//	faults LISTEN UPSTREAM [CERTIFICATE KEY]     for example: faults 127.0.0.1:9001 127.0.0.1:9000
//
// With a certificate it speaks https; what breaks then breaks inside TLS.
//
// POST /_faults takes a JSON array of rules and replaces the old ones; each rule says which requests
// it is for, how often it acts, and what it does. GET /_log tells every request since then, one per
// line. The Host header is kept, so signatures stay valid.
package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// A rule without method or path is for every request. Kinds:
//
//	status    answer Status with Body, do not ask the server
//	refuse    close the connection without a word
//	cut       send After bytes of the body, then close the connection
//	truncate  send After bytes and announce just that many: a lie that adds up
//	longer    announce and send After bytes more than there are
//	corrupt   flip one bit in the byte at After
//	garble    the same on the way to the server
//	slow      wait Millis before every 64 KiB
//	stall     send After bytes, then nothing for Millis
//	file      answer 200 with the whole file Body, whatever range was asked for
//	hold      wait until POST /_release before asking the server
type rule struct {
	Kind   string
	Method string
	Path   string // part of path and query
	Skip   int    // leave the first ones alone
	Times  int    // 0: always
	Status int
	Body   string
	Header map[string]string
	After  int64
	Millis int
}

type proxy struct {
	upstream string
	client   *http.Client
	mutex    sync.Mutex
	rules    []*rule
	seen     map[*rule]int
	log      []string
	release  chan struct{}
}

func (p *proxy) match(r *http.Request) *rule {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.log = append(p.log, r.Method+" "+r.URL.RequestURI())
	for _, each := range p.rules {
		if each.Method != "" && each.Method != r.Method || !strings.Contains(r.URL.RequestURI(), each.Path) {
			continue
		}
		p.seen[each]++
		count := p.seen[each] - each.Skip
		if count > 0 && (each.Times == 0 || count <= each.Times) {
			return each
		}
	}
	return nil
}

func (p *proxy) control(w http.ResponseWriter, r *http.Request) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch r.URL.Path {
	case "/_faults":
		p.rules, p.log, p.seen = nil, nil, map[*rule]int{}
		p.release = make(chan struct{})
		if err := json.NewDecoder(r.Body).Decode(&p.rules); err != nil {
			http.Error(w, err.Error(), 400)
		}
	case "/_release":
		close(p.release)
	case "/_log":
		io.WriteString(w, strings.Join(p.log, "\n"))
	}
}

func (p *proxy) forward(r *http.Request) (*http.Response, error) {
	out, err := http.NewRequest(r.Method, "http://"+p.upstream+r.URL.RequestURI(), r.Body)
	if err != nil {
		return nil, err
	}
	path, query, _ := strings.Cut(r.RequestURI, "?")
	out.URL.Opaque = "//" + p.upstream + path // as it came: no cleaning of the path
	out.URL.RawQuery = query
	out.Header = r.Header.Clone()
	out.Host = r.Host
	out.ContentLength = r.ContentLength
	if r.ContentLength == 0 {
		out.Body = http.NoBody
	}
	return p.client.Do(out)
}

type garbled struct {
	body  io.ReadCloser
	after int64 // bytes until the wrong one
}

func (g *garbled) Read(piece []byte) (int, error) {
	n, err := g.body.Read(piece)
	if g.after >= 0 && g.after < int64(n) {
		piece[g.after] ^= 1
	}
	g.after -= int64(n)
	return n, err
}

func (g *garbled) Close() error { return g.body.Close() }

func abort() { panic(http.ErrAbortHandler) }

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/_") {
		p.control(w, r)
		return
	}
	fault := p.match(r)
	if fault == nil {
		fault = &rule{}
	}
	switch fault.Kind {
	case "refuse":
		abort()
	case "status":
		io.Copy(io.Discard, r.Body)
		for name, value := range fault.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(fault.Status)
		io.WriteString(w, fault.Body)
		return
	case "file":
		w.Header().Set("ETag", fault.Header["ETag"])
		file, err := os.Open(fault.Body)
		if err != nil {
			abort()
		}
		defer file.Close()
		info, _ := file.Stat()
		w.Header().Set("Content-Length", fmt.Sprint(info.Size()))
		io.Copy(w, file)
		return
	case "hold":
		p.mutex.Lock()
		release := p.release
		p.mutex.Unlock()
		<-release
	case "garble":
		r.Body = &garbled{body: r.Body, after: fault.After}
	}
	reply, err := p.forward(r)
	if err != nil {
		http.Error(w, err.Error(), 502)
		return
	}
	defer reply.Body.Close()
	p.answer(w, r, reply, fault)
}

func (p *proxy) answer(w http.ResponseWriter, r *http.Request, reply *http.Response, fault *rule) {
	for name, values := range reply.Header {
		w.Header()[name] = values
	}
	switch {
	case fault.Kind == "truncate" && reply.ContentLength > fault.After:
		w.Header().Set("Content-Length", fmt.Sprint(fault.After))
	case fault.Kind == "longer":
		w.Header().Set("Content-Length", fmt.Sprint(reply.ContentLength+fault.After))
	}
	w.WriteHeader(reply.StatusCode)
	if r.Method == "HEAD" {
		return
	}
	send(w, reply.Body, fault)
}

func send(w http.ResponseWriter, body io.Reader, fault *rule) {
	buffer := make([]byte, 64*1024)
	var sent int64
	for {
		n, err := body.Read(buffer)
		piece := buffer[:n]
		if fault.Kind == "slow" {
			time.Sleep(time.Duration(fault.Millis) * time.Millisecond)
		}
		if fault.Kind == "corrupt" && sent <= fault.After && fault.After < sent+int64(n) {
			piece[fault.After-sent] ^= 1
		}
		ends := fault.Kind == "cut" || fault.Kind == "truncate" || fault.Kind == "stall"
		if ends && sent+int64(n) > fault.After {
			w.Write(piece[:fault.After-sent])
			if flusher, ok := w.(http.Flusher); ok {
				flusher.Flush()
			}
			if fault.Kind == "stall" {
				time.Sleep(time.Duration(fault.Millis) * time.Millisecond)
			}
			if fault.Kind != "truncate" {
				abort()
			}
			return
		}
		if _, wrong := w.Write(piece); wrong != nil {
			return
		}
		sent += int64(n)
		if err != nil {
			break
		}
	}
	if fault.Kind == "longer" {
		w.Write(make([]byte, fault.After))
	}
}

func main() {
	if len(os.Args) != 3 && len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: faults LISTEN UPSTREAM [CERTIFICATE KEY]")
		os.Exit(64)
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(69)
	}
	if len(os.Args) == 5 {
		pair, err := tls.LoadX509KeyPair(os.Args[3], os.Args[4])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(69)
		}
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair}})
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 128, DisableCompression: true}
	p := &proxy{upstream: os.Args[2], seen: map[*rule]int{}, release: make(chan struct{}),
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}}
	fmt.Println(listener.Addr())
	http.Serve(listener, p)
}
