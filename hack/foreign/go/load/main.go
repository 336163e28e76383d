// Sends the same requests about Widgets to any API server, and prints how long they took.
//
//	load URL TOKEN CA BODY    the file BODY has a Widget as JSON, with NAME for its name
//
// Each line of standard input is a phase: its verb (create, get, update, list), the first number, the number of
// requests and how many of them are in flight. A line of JSON is printed for each.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pilotage.example/foreign/report"
)

const resource = "/apis/bench.pilotage.dev/v1/namespaces/default/widgets"

type phase struct {
	verb                   string
	first, count, inFlight int
}

type figure struct {
	Count  int     `json:"count"`
	Wall   float64 `json:"wall"`
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
}

type load struct {
	client *http.Client
	url    string
	token  string
	body   []byte
	stored sync.Map // the last answer for each number, which an update starts from
}

func main() {
	authority, err := os.ReadFile(os.Args[3])
	report.Check(err)
	body, err := os.ReadFile(os.Args[4])
	report.Check(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, MaxIdleConnsPerHost: 256}
	l := &load{client: &http.Client{Transport: transport}, url: os.Args[1] + resource, token: os.Args[2], body: body}
	encoder := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var p phase
		_, err := fmt.Sscan(lines.Text(), &p.verb, &p.first, &p.count, &p.inFlight)
		report.Check(err)
		report.Check(encoder.Encode(l.run(p)))
	}
}

func (l *load) run(p phase) figure {
	took := make([]time.Duration, p.count)
	var next atomic.Int64
	var workers sync.WaitGroup
	start := time.Now()
	for range p.inFlight {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < p.count; i = int(next.Add(1)) - 1 {
				began := time.Now()
				l.request(p.verb, p.first+i)
				took[i] = time.Since(began)
			}
		})
	}
	workers.Wait()
	wall := time.Since(start).Seconds()
	slices.Sort(took)
	return figure{p.count, wall, took[p.count/2].Seconds(), took[p.count*99/100].Seconds()}
}

func (l *load) request(verb string, number int) {
	name := fmt.Sprintf("widget-%06d", number)
	switch verb {
	case "create":
		made := l.send(http.MethodPost, l.url, bytes.ReplaceAll(l.body, []byte("NAME"), []byte(name)))
		l.stored.Store(number, made)
	case "get":
		l.send(http.MethodGet, l.url+"/"+name, nil)
	case "update":
		// Another image each time: an update that changes nothing is not written.
		before, _ := l.stored.Load(number)
		image := fmt.Appendf(nil, `"image":"registry.example.com/widgets/main:%d"`, time.Now().UnixNano())
		at := bytes.Index(before.([]byte), []byte(`"image":"registry.example.com`))
		end := at + len(`"image":"`) + bytes.IndexByte(before.([]byte)[at+len(`"image":"`):], '"') + 1
		changed := slices.Concat(before.([]byte)[:at], image, before.([]byte)[end:])
		l.stored.Store(number, l.send(http.MethodPut, l.url+"/"+name, changed))
	case "list":
		l.send(http.MethodGet, l.url, nil)
	default:
		panic("no such verb: " + verb)
	}
}

func (l *load) send(method, url string, body []byte) []byte {
	request, err := http.NewRequest(method, url, bytes.NewReader(body))
	report.Check(err)
	request.Header.Set("Authorization", "Bearer "+l.token)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	answer, err := l.client.Do(request)
	report.Check(err)
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	report.Check(err)
	if answer.StatusCode >= 300 {
		panic(fmt.Sprintf("%s %s: %s %s", method, url, answer.Status, content))
	}
	return content
}
