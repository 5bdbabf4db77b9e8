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

// redirector is plain HTTP beside profiles with a domain: it answers the challenges of
// the certificate authority, and sends everybody else to https.
type redirector struct {
	*transport.Pauser // between listener and web
	listener          *net.TCPListener
	web               *http.Server
	address           netip.AddrPort
}

// Limits of the redirector: nobody needs it for long.
const (
	redirectConns   = 256
	redirectPerHost = 16
	redirectTime    = 10 * time.Second
)

// redirectAddress is where a configuration wants a redirector; not valid: nowhere.
func (s *Server) redirectAddress(c *config.Config) (at netip.AddrPort) {
	profiles, _ := s.wanted(c)
	i := slices.IndexFunc(profiles, func(cfg *config.Profile) bool { return cfg.Network.Domain != "" })
	if i < 0 || c.Server.RedirectPort == 0 {
		return at
	}
	at = profiles[i].Network.Address(c.Server.RedirectPort)
	if !at.Addr().IsValid() {
		at = netip.AddrPortFrom(netip.IPv6Unspecified(), at.Port())
	}
	return at
}

// openRedirect binds the redirector, or takes over that of the image before this one. A
// server without one serves, and says so.
func (s *Server) openRedirect() error {
	s.house.redirect = s.bindRedirect(s.redirectAddress(s.o.Config))
	s.closers = append(s.closers, func() error { return s.redirector().close() })
	return nil
}

func (s *Server) redirector() *redirector {
	s.house.mu.RLock()
	defer s.house.mu.RUnlock()
	return s.house.redirect
}

func (s *Server) bindRedirect(at netip.AddrPort) *redirector {
	if !at.IsValid() {
		return nil
	}
	l := s.o.Succession.Inheritance.Listener(handoff.Redirect)
	if l != nil && l.Addr().(*net.TCPAddr).AddrPort().Port() != at.Port() {
		l.Close()
		l = nil
	}
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
		Handler:     transport.Guarded(s.authority.manager.HTTPHandler(http.HandlerFunc(s.redirect)), s.caught),
		ReadTimeout: redirectTime, WriteTimeout: redirectTime, IdleTimeout: redirectTime, MaxHeaderBytes: 8 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // mistakes of far ends
	}}
	r.Pauser = transport.NewPauser(r.listener, r.web)
	return r
}

// redirect sends a browser to the same page over https.
func (s *Server) redirect(w http.ResponseWriter, r *http.Request) {
	name := r.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	name = strings.ToLower(name)
	for _, k := range s.supervisors() {
		if !slices.Contains(k.Config().Network.Domains(), name) {
			continue
		}
		if port := k.Port().TCPAddr().Port(); port != 443 {
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
	if r == nil {
		return
	}
	s.help("the redirector", func() {
		if err := r.web.Serve(r.Listen(redirectConns, redirectPerHost, s.caught)); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			s.log.Error("the redirector has ended", "err", err)
		}
	})
}

// moveRedirect lets the redirector be where a new configuration wants it.
func (s *Server) moveRedirect(c *config.Config) {
	s.authority.serve(s.domainsOf(c))
	old, at := s.redirector(), s.redirectAddress(c)
	if old != nil && old.address == at || old == nil && !at.IsValid() {
		return
	}
	old.close()
	r := s.bindRedirect(at)
	s.house.mu.Lock()
	s.house.redirect = r
	s.house.mu.Unlock()
	s.serveRedirect(r)
}

func (r *redirector) close() error {
	if r == nil {
		return nil
	}
	return errors.Join(r.web.Close(), ignoreClosed(r.listener.Close()))
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// hsts is how long browsers are to remember that a domain speaks https only.
const hsts = "max-age=15552000" // 180 days

// strict sends the header of HSTS with the pages of a profile with a domain.
func (k *supervisor) strict(site http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil && k.Config().Network.Domain != "" {
			w.Header().Set("Strict-Transport-Security", hsts)
		}
		site.ServeHTTP(w, r)
	})
}
