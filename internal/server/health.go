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
func (s *Server) site(rt *runtime) http.Handler {
	if _, on := rt.cfg.Load().Network.HTTP(); !on {
		return nil
	}
	mux := health(rt.stage.get)
	mux.Handle("GET /api/", rt.api())
	mux.Handle("GET /", web.Player(rt.cfg.Load().Network.WebSocketPath))
	return mux
}

// readiness is that of all profiles, for the admin listener.
func (s *Server) readiness() (up bool, why string) {
	list := s.keepers()
	up, why = len(list) > 0, "no profile runs"
	for _, k := range list {
		isUp, stage := k.stage.get()
		if up = up && isUp; !isUp && len(list) > 1 {
			return false, k.name + ": " + stage
		}
		why = stage
	}
	return up, why
}

// health answers whether the process lives, and whether it serves players.
func health(ready func() (up bool, why string)) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		plain(w, http.StatusOK, "alive\n")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		code := http.StatusOK
		up, why := ready()
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
	mux := health(s.readiness)
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
