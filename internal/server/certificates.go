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
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"wamble/internal/admin"
	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/handoff"
	"wamble/internal/transport"
)

// checkCertificates reads the certificates of all profiles that are to run, and returns an
// error if one cannot be used.
func (s *Server) checkCertificates(c *config.Config) error {
	profiles, err := s.wantedProfiles(c)
	if err != nil {
		return err
	}
	for _, cfg := range profiles {
		c, err := admin.Certificate(&cfg.Network)
		if err != nil {
			return fmt.Errorf("profile %s: %w", cfg.Name, err)
		}
		s.warnOf(cfg.Name, c)
	}
	return nil
}

// warnOf logs a warning if c is not nil and browsers refuse it, or will soon.
func (s *Server) warnOf(profile string, c *tls.Certificate) {
	if c == nil {
		return
	}
	if verdict, text := admin.Validity(c, time.Now()); verdict != admin.SeverityOK {
		s.log.Warn(text, "profile", profile)
	}
}

// renewCertificate reads the certificate of a profile again. If that fails, the old one
// stays in use.
func (p *Profile) renewCertificate(cfg *config.Profile) {
	if cfg.Network.Domain != "" {
		return // its certificates come from the authority
	}
	c, err := admin.Certificate(&cfg.Network)
	if err != nil {
		p.log.Error("the old certificate stays in use", "err", err)
		return
	}
	p.Port().Secure(c)
}

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
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(filepath.Join(dir, "acme")), HostPolicy: a.allows,
		Email: c.ACMEEmail, Client: client,
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
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: get,
		NextProtos: []string{"http/1.1", acme.ALPNProto}}
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
				a.log.Error("no certificate: it is asked for again", "domain", domain, "authority",
					a.manager.Client.DirectoryURL, "after", pause, "err", err)
				continue
			}
			if verdict, text := admin.Validity(c, time.Now()); verdict != admin.SeverityOK {
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

// redirector is a plain HTTP server for profiles with a domain. It answers the challenges
// of the certificate authority and redirects other requests to https.
type redirector struct {
	*transport.Pauser // wraps listener and web
	listener          *net.TCPListener
	web               *http.Server
	address           netip.AddrPort
}

// The limits of the redirector: connections in all and from one host, and the time of one.
const (
	redirectConns   = 256
	redirectPerHost = 16
	redirectTime    = 10 * time.Second
)

// redirectAddresses returns the addresses of redirectors: those of profiles with a domain,
// each once, or a single one if a profile listens on all addresses.
func (s *Server) redirectAddresses(c *config.Config) (all []netip.AddrPort) {
	if c.Server.RedirectPort == 0 {
		return nil
	}
	profiles, _ := s.wantedProfiles(c)
	for _, cfg := range profiles {
		if cfg.Network.Domain == "" {
			continue
		}
		at := cfg.Network.Address(c.Server.RedirectPort)
		if !at.Addr().IsValid() || at.Addr().IsUnspecified() {
			return []netip.AddrPort{netip.AddrPortFrom(netip.IPv6Unspecified(), at.Port())}
		}
		if !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	return all
}

// openRedirect binds the redirectors, or takes over those of the process before a handoff.
// One that cannot be bound is logged.
func (s *Server) openRedirect() error {
	var inherited []net.Listener
	for {
		l := s.o.Handoff.Inheritance.Listener(redirectName(len(inherited)))
		if l == nil {
			break
		}
		inherited = append(inherited, l)
	}
	at := s.redirectAddresses(s.o.Config)
	taken := make([]net.Listener, len(at))
	for _, l := range inherited {
		is := func(at netip.AddrPort) bool { return bound(l, at) }
		if i := slices.IndexFunc(at, is); i >= 0 && taken[i] == nil {
			taken[i] = l
		} else {
			l.Close()
		}
	}
	for i, at := range at {
		if r := s.bindRedirect(at, taken[i]); r != nil {
			s.running.redirects = append(s.running.redirects, r)
		}
	}
	s.closers = append(s.closers, func() (err error) {
		for _, r := range s.redirectors() {
			err = errors.Join(err, r.close())
		}
		return err
	})
	return nil
}

// redirectName names the listener of a redirector in a handoff. Older versions know only
// the first.
func redirectName(i int) string {
	if i == 0 {
		return handoff.Redirect
	}
	return handoff.Redirect + "/" + strconv.Itoa(i)
}

// bound reports whether a listener is bound to an address.
func bound(l net.Listener, at netip.AddrPort) bool {
	is := l.Addr().(*net.TCPAddr).AddrPort()
	ip := is.Addr().Unmap()
	return is.Port() == at.Port() && (ip == at.Addr().Unmap() || ip.IsUnspecified() && at.Addr().IsUnspecified())
}

func (s *Server) redirectors() []*redirector {
	s.running.mu.RLock()
	defer s.running.mu.RUnlock()
	return s.running.redirects
}

// bindRedirect makes a redirector with the listener, or binds one if that is nil. It
// returns nil if it cannot.
func (s *Server) bindRedirect(at netip.AddrPort, l net.Listener) *redirector {
	if l == nil {
		host := ""
		if !at.Addr().IsUnspecified() {
			host = at.Addr().String()
		}
		var err error
		if l, err = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(int(at.Port())))); err != nil {
			s.log.Warn("plain HTTP is not sent to https, and the certificate authority must reach port 443; redirect-port 0 says that this is meant", "err", err)
			return nil
		}
	}
	r := &redirector{listener: l.(*net.TCPListener), address: at, web: &http.Server{
		Handler: transport.RecoverPanics(s.authority.manager.HTTPHandler(http.HandlerFunc(s.redirect)),
			s.reportPanic),
		ReadTimeout: redirectTime, WriteTimeout: redirectTime, IdleTimeout: redirectTime, MaxHeaderBytes: 8 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // errors of clients
	}}
	r.Pauser = transport.NewPauser(r.listener, r.web)
	return r
}

// redirect sends a browser to the same page over https, if its host is a profile's domain.
func (s *Server) redirect(w http.ResponseWriter, r *http.Request) {
	name := r.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	name = strings.ToLower(name)
	for _, p := range s.profiles() {
		if !slices.Contains(p.Config().Network.Domains(), name) {
			continue
		}
		if port := p.Port().TCPAddr().Port(); port != 443 {
			name = net.JoinHostPort(name, strconv.Itoa(int(port)))
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "use https", http.StatusBadRequest)
			return
		}
		http.Redirect(w, r, "https://"+name+r.URL.RequestURI(), http.StatusMovedPermanently)
		return
	}
	http.NotFound(w, r)
}

func (s *Server) serveRedirect(r *redirector) {
	s.runBackground("the redirector", func() {
		if err := r.web.Serve(r.Listen(redirectConns, redirectPerHost, s.reportPanic)); !errors.Is(err,
			http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			s.log.Error("the redirector has ended", "err", err)
		}
	})
}

// moveRedirect closes and binds redirectors as a new configuration requires.
func (s *Server) moveRedirect(c *config.Config) {
	s.authority.setDomains(s.domainsOf(c))
	want := s.redirectAddresses(c)
	var now []*redirector
	for _, r := range s.redirectors() {
		if i := slices.Index(want, r.address); i >= 0 {
			now, want = append(now, r), slices.Delete(want, i, i+1)
		} else {
			r.close()
		}
	}
	for _, at := range want {
		if r := s.bindRedirect(at, nil); r != nil {
			now = append(now, r)
			s.serveRedirect(r)
		}
	}
	s.running.mu.Lock()
	s.running.redirects = now
	s.running.mu.Unlock()
}

func (r *redirector) close() error {
	return errors.Join(r.web.Close(), ignoreClosed(r.listener.Close()))
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// hsts tells browsers how long to use only https for a domain.
const hsts = "max-age=15552000" // 180 days

// withHSTS adds the HSTS header to TLS responses of a profile with a domain.
func (p *Profile) withHSTS(site http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil && p.Config().Network.Domain != "" {
			w.Header().Set("Strict-Transport-Security", hsts)
		}
		site.ServeHTTP(w, r)
	})
}
