package server

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"wamble/web"
)

// site is what HTTP shows on the port of a profile.
func (s *Server) site() http.Handler {
	if _, on := s.runtime.cfg.Network.HTTP(); !on {
		return nil
	}
	mux := s.health()
	mux.Handle("GET /", web.Player(s.runtime.cfg.Network.WebSocketPath))
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
