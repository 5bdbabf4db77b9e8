package transport

import (
	"io"
	"log"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// HTTPOptions limit HTTP connections and requests. Zero fields mean the defaults.
type HTTPOptions struct {
	Max     int            // TCP connections in all, WebSocket included; 4096
	MaxHost int            // TCP connections per host; 128
	MaxBody int64          // bytes of a request's body; 64 KiB
	Head    time.Duration  // to send the head of a request; 15 s, because browsers keep an unused spare connection for 10 s
	Request time.Duration  // to send a whole request; 60 s
	Answer  time.Duration  // to read a whole answer; 60 s
	Idle    time.Duration  // between two requests; 60 s
	Proxies []netip.Prefix // see Port.Trust
}

// maxHead is the longest head of a request in bytes, as in the original.
const maxHead = 8192

func (o HTTPOptions) withDefaults() HTTPOptions {
	def(&o.Max, 4096)
	def(&o.MaxHost, 128)
	def(&o.MaxBody, 64<<10)
	def(&o.Head, 15*time.Second)
	def(&o.Request, 60*time.Second)
	def(&o.Answer, 60*time.Second)
	def(&o.Idle, 60*time.Second)
	return o
}

// def sets *v to its default if it is not positive.
func def[T int | int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// server returns an http.Server with the limits. It discards the log: far ends could fill it at
// will.
func (o HTTPOptions) server() *http.Server {
	return &http.Server{
		ReadHeaderTimeout: o.Head,
		ReadTimeout:       o.Request,
		WriteTimeout:      o.Answer,
		IdleTimeout:       o.Idle,
		MaxHeaderBytes:    maxHead,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
}

// route sends requests for the WebSocket's paths to the gateway, and all others to site.
func (o HTTPOptions) route(g *gateway, site http.Handler) http.Handler {
	if site == nil {
		site = g // answers "not found"
	}
	site = http.MaxBytesHandler(site, o.MaxBody)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, _, _ := strings.Cut(r.RequestURI, "?")
		if ws := g.settings().Path; path == ws || path == ws+jsonPath {
			began := time.Now()
			g.ServeHTTP(w, r)
			if g.ended != nil {
				g.ended(time.Since(began))
			}
			return
		}
		site.ServeHTTP(w, r)
	})
}
