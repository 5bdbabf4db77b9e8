//go:build proof

package acmetest

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	domain   = "chess.example.org"
	patience = time.Minute
)

var binary string // of wamble

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv(asAuthority) != "" {
		beAuthority()
		return 0
	}
	dir, err := os.MkdirTemp("", "acmetest")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "wamble")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "./cmd/wamble")
	build.Dir, build.Stderr = "../..", os.Stderr
	if err := build.Run(); err != nil {
		panic(err)
	}
	return m.Run()
}

// authority is Pebble.
type authority struct {
	*Authority
	roots  string         // a file with what it signs its own address with
	issued *x509.CertPool // what it signs with
	orders atomic.Int32   // that it was given
}

func pebble(t *testing.T, httpPort, tlsPort int) *authority {
	t.Helper()
	a := &authority{roots: filepath.Join(t.TempDir(), "roots.pem"), issued: x509.NewCertPool()}
	var err error
	if a.Authority, err = Start(httpPort, tlsPort, func() { a.orders.Add(1) }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	if err := os.WriteFile(a.roots, a.Root, 0o600); err != nil {
		t.Fatal(err)
	}
	if !a.issued.AppendCertsFromPEM(a.Issuer) {
		t.Fatal("Pebble has no root")
	}
	return a
}

// freePorts returns unused ports, below those of the kernel's choice.
func freePorts(t *testing.T, n int) (free []int) {
	t.Helper()
	for port := 21000 + os.Getpid()%9000; len(free) < n; port++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer l.Close()
		free = append(free, port)
	}
	return free
}

// output is the output of a process.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// server is a wamble that runs.
type server struct {
	t       *testing.T
	conf    string
	data    string
	cmd     *exec.Cmd
	out     output
	https   string // its address
	browser *http.Client
}

func newServer(t *testing.T, a *authority, https, redirect int, more string) *server {
	s := &server{t: t, data: filepath.Join(t.TempDir(), "data"), conf: filepath.Join(t.TempDir(), "wamble.conf"),
		https: fmt.Sprintf("127.0.0.1:%d", https)}
	text := fmt.Sprintf(`(def domain %q) (def http-port %d) (def redirect-port %d) (def acme-directory %q) (def acme-roots %q)
(def listen-address "127.0.0.1") (def port 0) (def admin-listen "127.0.0.1:0") (def disk-reserve-mb 0) (def durability "write") %s`,
		domain, https, redirect, a.Directory, a.roots, more)
	if err := os.WriteFile(s.conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, _ := net.SplitHostPort(address)
		return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+port)
	}
	s.browser = &http.Client{
		Transport: &http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: a.issued},
			DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			t.Logf("the server said:\n%s", &s.out)
		}
	})
	return s
}

func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command(binary, "serve", "--config", s.conf, "--data", s.data)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) stop() {
	if s.cmd != nil {
		s.cmd.Process.Signal(syscall.SIGTERM)
		s.cmd.Wait()
		s.cmd = nil
	}
}

// order gives the server a command.
func (s *server) order(args ...string) {
	s.t.Helper()
	if out, err := exec.Command(binary, append(args, "--data", s.data)...).CombinedOutput(); err != nil {
		s.t.Fatalf("wamble %s: %v\n%s", args[0], err, out)
	}
}

// certificate waits for one that Pebble has signed, and returns its number.
func (s *server) certificate() string {
	s.t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var r *http.Response
		if r, err = s.browser.Get("https://" + domain + s.https[strings.LastIndexByte(s.https, ':'):] +
			"/healthz"); err == nil {
			r.Body.Close()
			if got := r.Header.Get("Strict-Transport-Security"); !strings.HasPrefix(got, "max-age=") {
				s.t.Errorf("HSTS is %q", got)
			}
			return r.TLS.PeerCertificates[0].SerialNumber.String()
		}
	}
	s.t.Fatalf("no certificate: %v", err)
	return ""
}

// TestAutomaticHTTPS: a server with a domain gets its certificate by either challenge,
// speaks https only, and orders nothing again after a handoff, a reload and a restart.
func TestAutomaticHTTPS(t *testing.T) {
	t.Log("needs minutes")
	for _, challenge := range []string{"tls-alpn-01", "http-01"} {
		t.Run(challenge, func(t *testing.T) {
			t.Parallel()
			ports := freePorts(t, 8)
			if challenge == "http-01" {
				ports = ports[4:]
			}
			https, redirect, nobody := ports[0], ports[1], ports[2]
			a, more := pebble(t, nobody, https), ""
			if challenge == "http-01" {
				a, more = pebble(t, redirect, nobody), "(def udp-enabled 0)"
			}
			s := newServer(t, a, https, redirect, more)
			s.start()
			first := s.certificate()
			check := func(when string) {
				t.Helper()
				if got := s.certificate(); got != first {
					t.Errorf("%s: another certificate", when)
				}
				for host, want := range map[string]string{domain: fmt.Sprintf("https://%s:%d/watch?x=1", domain, https),
					"other.example.org": ""} {
					r, err := s.browser.Get(fmt.Sprintf("http://%s:%d/watch?x=1", host, redirect))
					if err != nil {
						t.Fatalf("%s: %v", when, err)
					}
					r.Body.Close()
					if got := r.Header.Get("Location"); got != want {
						t.Errorf("%s: http://%s leads to %q, want %q", when, host, got, want)
					}
				}
			}
			check("at first")
			if c, err := tls.Dial("tcp", s.https,
				&tls.Config{ServerName: "other.example.org", InsecureSkipVerify: true}); err == nil {
				c.Close()
				t.Error("there is a certificate for the name of somebody else")
			}
			orders := a.orders.Load()
			s.order("status", "--wait", "60s") // a handoff needs a server that is ready
			s.order("handoff")
			check("after a handoff")
			s.order("reload")
			check("after a reload")
			s.stop()
			s.start()
			check("after a restart")
			if got := a.orders.Load(); got != orders {
				t.Errorf("%d certificates were ordered again", got-orders)
			}
			if strings.Contains(s.out.String(), "no certificate") {
				t.Error("the log tells of a failure")
			}
		})
	}
}

// TestRenewal: a certificate that is near its end is renewed while the server runs.
func TestRenewal(t *testing.T) {
	t.Log("needs minutes")
	ports := freePorts(t, 12)[8:]
	a := pebble(t, ports[1], ports[0])
	s := newServer(t, a, ports[0], ports[1], "")
	s.hasOld()
	s.start()
	if got := s.certificate(); got == "7" || a.orders.Load() == 0 {
		t.Errorf("certificate %s, %d orders", got, a.orders.Load())
	}
}

// TestAuthorityAway: an authority that cannot be reached is logged. An existing certificate
// is used meanwhile, and players over UDP need none.
func TestAuthorityAway(t *testing.T) {
	t.Log("needs minutes")
	for _, old := range []bool{false, true} {
		t.Run(fmt.Sprintf("old certificate %v", old), func(t *testing.T) {
			ports := freePorts(t, 16)[12:]
			a := pebble(t, ports[1], ports[0])
			a.Directory = fmt.Sprintf("https://127.0.0.1:%d/dir", ports[2])
			s := newServer(t, a, ports[0], ports[1], "")
			want := "no certificate: it is asked for again"
			if old {
				s.hasOld()
				want = "and was not renewed"
			}
			s.start()
			for end := time.Now().Add(patience); !strings.Contains(s.out.String(),
				want); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("the log does not say %q", want)
				}
			}
			s.order("status", "--wait", "60s")
			c, err := tls.Dial("tcp", s.https, &tls.Config{ServerName: domain, InsecureSkipVerify: true})
			if err == nil {
				defer c.Close()
			}
			if old != (err == nil) || old && c.ConnectionState().PeerCertificates[0].SerialNumber.Int64() != 7 {
				t.Errorf("https: %v", err)
			}
		})
	}
}

// hasOld gives the server a certificate of before, number 7, that ends in an hour.
func (s *server) hasOld() {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Join(s.data, "acme"), 0o700); err != nil {
		s.t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	old := &x509.Certificate{SerialNumber: big.NewInt(7), NotBefore: time.Now().Add(-2000 * time.Hour),
		NotAfter: time.Now().Add(time.Hour), DNSNames: []string{domain}}
	der, err := x509.CreateCertificate(rand.Reader, old, old, &key.PublicKey, key)
	if err != nil {
		s.t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	if err := os.WriteFile(filepath.Join(s.data, "acme", domain), text, 0o600); err != nil {
		s.t.Fatal(err)
	}
}
