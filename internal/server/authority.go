package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/host"
	"wamble/internal/transport"
)

// authority orders and renews certificates of domains with ACME. Certificates and the
// account's key are kept in the data directory, so that a restart orders nothing again.
type authority struct {
	manager *autocert.Manager
	log     *slog.Logger
	domains atomic.Pointer[[]string]
	changed chan struct{} // capacity 1: domains has changed
	issued  sync.Map      // set of domains with a certificate
}

// newAuthority returns an authority without domains.
func newAuthority(dir string, c *config.Server, log *slog.Logger) (*authority, error) {
	a := &authority{log: log, changed: make(chan struct{}, 1)}
	a.domains.Store(new([]string))
	client := &acme.Client{DirectoryURL: c.ACMEDirectory, UserAgent: "wamble"}
	if client.DirectoryURL == "" {
		client.DirectoryURL = autocert.DefaultACMEDirectory
	}
	if c.ACMERoots != "" {
		roots, err := readRoots(c.ACMERoots)
		if err != nil {
			return nil, fmt.Errorf("acme-roots: %w", err)
		}
		way := http.DefaultTransport.(*http.Transport).Clone()
		way.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		client.HTTPClient = &http.Client{Transport: way, Timeout: time.Minute}
	}
	a.manager = &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(filepath.Join(dir, "acme")), HostPolicy: a.allows, Email: c.ACMEEmail, Client: client,
	}
	return a, nil
}

func readRoots(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM", file)
	}
	return roots, nil
}

var (
	errForeignDomain = errors.New("no domain of this server")
	errNoCertificate = errors.New("there is no certificate yet")
)

// allows returns errForeignDomain for a name that is not one of the domains. The name may have
// a port.
func (a *authority) allows(_ context.Context, name string) error {
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	if !slices.Contains(*a.domains.Load(), strings.ToLower(strings.TrimSuffix(name, "."))) {
		return errForeignDomain
	}
	return nil
}

// setDomains sets the domains.
func (a *authority) setDomains(domains []string) {
	if slices.Equal(domains, *a.domains.Load()) {
		return
	}
	a.domains.Store(&domains)
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// secure makes a port speak TLS with the certificates of its domains. A client without a
// server name gets that of the first. Connections never order a certificate; keep does.
func (a *authority) secure(port *transport.Port, domains []string) {
	get := func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		name := strings.ToLower(hello.ServerName)
		if name == "" {
			name = domains[0]
		}
		if err := a.allows(context.Background(), name); err != nil {
			return nil, err
		}
		if slices.Contains(hello.SupportedProtos, acme.ALPNProto) {
			return a.manager.GetCertificate(hello)
		}
		if _, got := a.issued.Load(name); !got && a.cachedCertificate(name) == nil {
			return nil, errNoCertificate
		}
		return a.manager.GetCertificate(helloFor(name))
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: get, NextProtos: []string{"http/1.1", acme.ALPNProto}}
	port.SecureWith(config, func() *tls.Certificate { return a.cachedCertificate(domains[0]) })
}

// cachedCertificate returns the certificate of a domain from the cache; nil if there is none.
func (a *authority) cachedCertificate(domain string) *tls.Certificate {
	text, err := a.manager.Cache.Get(context.Background(), domain)
	if err != nil {
		return nil
	}
	c, err := tls.X509KeyPair(text, text)
	if err != nil {
		return nil
	}
	return &c
}

// The interval between two checks of the certificates: firstOrderPause after a failure, doubled
// up to lastOrderPause each time; otherwise lastOrderPause.
const (
	firstOrderPause = time.Minute
	lastOrderPause  = time.Hour
)

// renewLoop orders the certificates of all domains in advance, and logs those that could not be
// ordered or renewed, until ctx ends. The manager renews by itself.
func (a *authority) renewLoop(ctx context.Context) {
	pause, told := firstOrderPause, map[string]bool{}
	for {
		next := lastOrderPause
		for _, domain := range *a.domains.Load() {
			c, err := a.order(ctx, domain)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				next = min(pause, next)
				a.log.Error("no certificate: it is asked for again", "domain", domain, "authority", a.manager.Client.DirectoryURL, "after", pause, "err", err)
				continue
			}
			if verdict, text := host.Validity(c, time.Now()); verdict != host.SeverityOK {
				a.log.Warn(text+", and was not renewed", "domain", domain)
			} else if !told[c.Leaf.SerialNumber.String()] {
				told[c.Leaf.SerialNumber.String()] = true
				a.log.Info(text, "domain", domain)
			}
		}
		if pause = min(2*pause, lastOrderPause); next == lastOrderPause {
			pause = firstOrderPause
		}
		select {
		case <-time.After(next):
		case <-a.changed:
		case <-ctx.Done():
			return
		}
	}
}

// order returns the certificate of a domain, and orders it if there is none. The manager
// cannot be interrupted: when ctx ends, order returns and the manager goes on.
func (a *authority) order(ctx context.Context, domain string) (*tls.Certificate, error) {
	type result struct {
		c   *tls.Certificate
		err error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		r.err = guard.Call("the order of a certificate", func() (err error) {
			if r.c, err = a.manager.GetCertificate(helloFor(domain)); err == nil {
				a.issued.Store(domain, true)
			}
			return err
		})
		done <- r
	}()
	select {
	case r := <-done:
		return r.c, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// helloFor returns a TLS hello for the ECDSA certificate of a domain. There are no others.
func helloFor(domain string) *tls.ClientHelloInfo {
	return &tls.ClientHelloInfo{ServerName: domain, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}}
}

// domainsOf returns the domains of the profiles that are to run.
func (s *Server) domainsOf(c *config.Config) (domains []string) {
	profiles, _ := s.wantedProfiles(c)
	for _, cfg := range profiles {
		domains = append(domains, cfg.Network.Domains()...)
	}
	slices.Sort(domains)
	return slices.Compact(domains)
}

// openAuthority makes the authority, with the domains of the configuration.
func (s *Server) openAuthority() (err error) {
	s.authority, err = newAuthority(s.dir, &s.o.Config.Server, s.log)
	if err == nil {
		s.authority.setDomains(s.domainsOf(s.o.Config))
	}
	return err
}

// certify secures a port with certificates of the authority if its profile has domains.
func (s *Server) certify(cfg *config.Profile, port *transport.Port) {
	if domains := cfg.Network.Domains(); len(domains) > 0 {
		s.authority.secure(port, domains)
	}
}
