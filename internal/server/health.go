package server

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// site is what HTTP shows on the port of a profile.
func (s *Server) site() http.Handler {
	if _, on := s.runtime.cfg.Network.HTTP(); !on {
		return nil
	}
	mux := s.health()
	mux.HandleFunc("GET /{$}", s.front)
	return mux
}

// health answers whether the process lives, and whether it serves players.
func (s *Server) health() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		plain(w, http.StatusOK, "alive\n")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		code := http.StatusOK
		up, why := s.runtime.stage.get()
		if !up {
			code = http.StatusServiceUnavailable
		}
		plain(w, code, why+"\n")
	})
	return mux
}

// front says what this is to whoever opens the address in a browser.
func (s *Server) front(w http.ResponseWriter, _ *http.Request) {
	a := s.Addresses()
	plain(w, http.StatusOK, fmt.Sprintf(`This is Wamble, a massively multiplayer chess server: after every move you are
switched to another board.

Play with a client on UDP port %d, or over WebSocket at %s on this port.
`, a.UDP.Port(), s.runtime.cfg.Network.WebSocketPath))
}

func plain(w http.ResponseWriter, code int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	io.WriteString(w, text)
}

// openAdmin binds the admin listener, with the metrics.
func (s *Server) openAdmin() error {
	address := s.o.Config.Server.AdminListen
	if address == "" {
		return nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("the admin listener: %w\nSet admin-listen to another address, or to \"\" to do without", err)
	}
	mux := s.health()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry(), promhttp.HandlerOpts{}))
	s.admin = l
	s.web = &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 8192,
	}
	s.closers = append(s.closers, func() error {
		s.web.Close()
		l.Close() // if it was never served
		return nil
	})
	return nil
}
