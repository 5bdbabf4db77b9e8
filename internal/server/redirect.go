package server

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"wamble/internal/config"
	"wamble/internal/handoff"
	"wamble/internal/transport"
)

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
		Handler:     transport.RecoverPanics(s.authority.manager.HTTPHandler(http.HandlerFunc(s.redirect)), s.reportPanic),
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
	for _, sup := range s.supervisors() {
		if !slices.Contains(sup.Config().Network.Domains(), name) {
			continue
		}
		if port := sup.Port().TCPAddr().Port(); port != 443 {
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
		if err := r.web.Serve(r.Listen(redirectConns, redirectPerHost, s.reportPanic)); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
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
func (s *supervisor) withHSTS(site http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil && s.Config().Network.Domain != "" {
			w.Header().Set("Strict-Transport-Security", hsts)
		}
		site.ServeHTTP(w, r)
	})
}
