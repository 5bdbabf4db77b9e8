package server

import (
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
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wamble/client"
	"wamble/internal/config"
)

// makeCertificate writes a certificate for 127.0.0.1 and its key.
func makeCertificate(t testing.TB, cert, key string, serial int64) *x509.Certificate {
	t.Helper()
	return makeCertificateUntil(t, cert, key, serial, time.Now().Add(time.Hour))
}

func makeCertificateUntil(t testing.TB, cert, key string, serial int64, end time.Time) *x509.Certificate {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: end.Add(-1000 * time.Hour), NotAfter: end,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestTLS: WebSocket works over TLS; a reload reads the certificate again, a bad one is
// refused, and connections stay open.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := private(t)
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	roots := x509.NewCertPool()
	roots.AddCert(makeCertificate(t, cert, key, 1))
	text := conf(fmt.Sprintf("(def tls-cert %q) (def tls-key %q)", cert, key))
	load := func() (*config.Config, error) { return config.Load("test.conf", text, config.Params{}) }
	s := serve(t, Options{Dir: dir, Load: load}, text).ready()
	address := s.Profiles()[0].HTTP.String()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	d := &client.Dialer{TLS: &tls.Config{RootCAs: roots}}
	c, err := d.Dial(ctx, "wss://"+address+"/ws")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	serial := func() int64 {
		t.Helper()
		conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if got := serial(); got != 1 {
		t.Errorf("got certificate %d, want 1", got)
	}
	roots.AddCert(makeCertificate(t, cert, key, 2))
	if _, err := s.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	if got := serial(); got != 2 {
		t.Errorf("after a reload: got certificate %d, want 2", got)
	}
	if err := os.WriteFile(cert, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Reload(ctx); err == nil || !strings.Contains(err.Error(), "the TLS certificate") {
		t.Errorf("a bad certificate: got %v", err)
	}
	if got := serial(); got != 2 {
		t.Errorf("after a refused reload: got certificate %d, want 2", got)
	}
	if _, err := c.Hello(ctx); err != nil {
		t.Errorf("who was connected: %v", err)
	}
	if _, err := (&client.Dialer{}).Dial(ctx, "ws://"+address+"/ws"); err == nil {
		t.Error("it speaks without TLS, too")
	}
}

// TestNoCertificate: a server does not start if its certificate cannot be read.
func TestNoCertificate(t *testing.T) {
	t.Parallel()
	o := Options{Dir: private(t),
		Config: loadConf(t, conf(`(def tls-cert "/nowhere/cert.pem") (def tls-key "/nowhere/key.pem")`))}
	if s, err := Open(o); err == nil || !strings.Contains(err.Error(), "the TLS certificate: open /nowhere/cert.pem") {
		t.Errorf("got %v, %v", s, err)
	}
}

// TestOldCertificate: an expired certificate is logged, at the start and at a reload, and the
// metric has its date; the server runs.
func TestOldCertificate(t *testing.T) {
	t.Parallel()
	dir := private(t)
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	old := makeCertificateUntil(t, cert, key, 1, time.Now().Add(-time.Hour))
	text := conf(fmt.Sprintf("(def tls-cert %q) (def tls-key %q)", cert, key))
	load := func() (*config.Config, error) { return config.Load("test.conf", text, config.Params{}) }
	s := serve(t, Options{Dir: dir, Load: load}, text).ready()
	const words = "the TLS certificate has expired"
	if !strings.Contains(s.log.String(), words) {
		t.Errorf("the log does not say %q", words)
	}
	if got := s.metrics(); !strings.Contains(got,
		fmt.Sprintf("wamble_certificate_expires_timestamp_seconds{profile=%q} %v", "default",
			float64(old.NotAfter.Unix()))) {
		t.Error("the metric does not say when")
	}
	makeCertificateUntil(t, cert, key, 2, time.Now().Add(24*time.Hour))
	if _, err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.log.String(), "the TLS certificate expires on ") {
		t.Error("the log does not say that the new one expires soon")
	}
}
