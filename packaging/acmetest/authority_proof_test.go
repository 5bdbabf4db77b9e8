//go:build proof

package acmetest

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"
)

// Authority is Pebble, to which every name is this machine.
type Authority struct {
	Directory    string // its address
	Root, Issuer []byte // the certificates, in PEM, of its address and of what it signs with
	web          *httptest.Server
	names        *dns.Server
}

// Start starts an authority that checks its challenges at these ports, and calls ordered for
// every order.
func Start(httpPort, tlsPort int, ordered func()) (*Authority, error) {
	os.Setenv("PEBBLE_VA_NOSLEEP", "1")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	logger := log.New(io.Discard, "", 0)
	store := db.NewMemoryStore()
	signer := ca.New(logger, store, "", "ecdsa", 0, 1,
		map[string]ca.Profile{"default": {Description: "90 days", ValidityPeriod: 90 * 24 * 3600}})
	front := wfe.New(logger, store, va.New(logger, httpPort, tlsPort, false, l.Addr().String(), store), signer,
		[]string{"pebble"}, false, false, 1, 1)
	a := &Authority{Issuer: signer.GetRootCert(0).PEM(),
		names: &dns.Server{Listener: l, Handler: dns.HandlerFunc(resolve)}}
	go a.names.ActivateAndServe()
	handler := front.Handler()
	a.web = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/order-plz" && r.Method == http.MethodPost {
			ordered()
		}
		handler.ServeHTTP(w, r)
	}))
	a.Directory = a.web.URL + wfe.DirectoryPath
	a.Root = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.web.Certificate().Raw})
	return a, nil
}

// asAuthority is set in a process that is an authority for the tests of another module. It
// checks its challenges at ports 80 and 443, prints its Authority as a line of JSON, then
// "order" for each order, and ends with its standard input.
const asAuthority = "WAMBLE_TEST_AUTHORITY"

func beAuthority() {
	a, err := Start(80, 443, func() { fmt.Println("order") })
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(a)
	}
	if err != nil {
		panic(err)
	}
	io.Copy(io.Discard, os.Stdin)
}

// resolve answers every name with this machine's address.
func resolve(w dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg)
	m.SetReply(q)
	if q.Question[0].Qtype == dns.TypeA {
		m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA,
			Class: dns.ClassINET}, A: net.IPv4(127, 0, 0, 1)}}
	}
	w.WriteMsg(m)
}

// Close ends it.
func (a *Authority) Close() {
	a.web.Close()
	a.names.Shutdown()
}
