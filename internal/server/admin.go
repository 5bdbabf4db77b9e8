package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"wamble/internal/config"
	"wamble/internal/transport"
)

// adminDoor is the admin listener: metrics and what else only the host may see.
// Health is open; the rest needs the token, and a Host that is an address or
// localhost, so that no page of the web can reach it through a name of its own.
type adminDoor struct {
	configured string // admin-listen
	listener   *net.TCPListener
	web        *http.Server
	porter     *transport.Pauser // between them
	token      [sha256.Size]byte // of the token
}

// The limits of the admin listener.
const (
	adminConns   = 64
	adminBody    = 64 << 10
	adminHeaders = 8 << 10
	minToken     = 16 // characters
)

// openAdmin binds the admin listener.
func (s *Server) openAdmin() error {
	d, err := s.bindAdmin(s.o.Config)
	if err != nil {
		return err
	}
	s.house.admin = d
	s.closers = append(s.closers, func() error { return s.adminDoor().close() })
	return nil
}

// bindAdmin returns the admin listener that a configuration wants, or nil.
func (s *Server) bindAdmin(c *config.Config) (*adminDoor, error) {
	address := c.Server.AdminListen
	if address == "" {
		return nil, nil
	}
	token, err := adminToken(s.tokenFile(c))
	if err != nil {
		return nil, err
	}
	l, err := s.listenAdmin(address)
	if err != nil {
		return nil, fmt.Errorf("the admin listener: %w\nSet admin-listen to another address, or to \"\" to do without", err)
	}
	d := &adminDoor{configured: address, listener: l.(*net.TCPListener)}
	d.furnish(s, token)
	return d, nil
}

// furnish gives the listener its pages and its token.
func (d *adminDoor) furnish(s *Server, token string) {
	d.token = sha256.Sum256([]byte(token))
	mux := health(s.readiness)
	mux.Handle("GET /{$}", http.RedirectHandler("/console/", http.StatusFound))
	mux.Handle("/console/", s.host.Console(d.knows))
	mux.Handle("GET /metrics", d.secured(promhttp.HandlerFor(s.registry(), promhttp.HandlerOpts{})))
	d.web = &http.Server{
		Handler: http.MaxBytesHandler(d.local(mux), adminBody), ReadHeaderTimeout: 30 * time.Second, ReadTimeout: time.Minute,
		WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: adminHeaders,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0), // mistakes of far ends
	}
	d.porter = transport.NewPauser(d.listener, d.web)
}

// local refuses requests whose Host is a name that somebody else may have pointed
// at this address.
func (d *adminDoor) local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		_, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if err != nil && !strings.EqualFold(host, "localhost") {
			plain(w, http.StatusMisdirectedRequest, "ask for this page by its address, or as localhost\n")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// secured asks for the token.
func (d *adminDoor) secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !bearer {
			_, given, _ = r.BasicAuth()
		}
		if !d.knows(given) {
			w.Header().Set("WWW-Authenticate", `Basic realm="wamble", charset="UTF-8"`)
			plain(w, http.StatusUnauthorized, "the admin token is wanted, as bearer or as password; admin-token-file says where it is, else it is in the data directory\n")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// knows reports whether a text is the token.
func (d *adminDoor) knows(given string) bool {
	sum := sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(sum[:], d.token[:]) == 1
}

func (d *adminDoor) close() error {
	if d == nil {
		return nil
	}
	d.web.Close()
	if err := d.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// tokenFile returns where the admin token is, and whether the server chose that.
func (s *Server) tokenFile(c *config.Config) (file string, own bool) {
	if file := c.Server.AdminTokenFile; file != "" {
		return file, false
	}
	return filepath.Join(s.dir, "admin-token"), true
}

// adminToken returns the token of a file. The server's own is made at the first
// start.
func adminToken(file string, own bool) (string, error) {
	f, err := os.Open(file)
	if own && errors.Is(err, fs.ErrNotExist) {
		return newAdminToken(file)
	}
	if err != nil {
		return "", fmt.Errorf("the admin token: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return "", fmt.Errorf("the admin token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < minToken {
		return "", fmt.Errorf("the admin token in %s is shorter than %d characters", file, minToken)
	}
	return token, nil
}

func newAdminToken(file string) (string, error) {
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return "", fmt.Errorf("the admin token: %w", err)
	}
	token := hex.EncodeToString(secret[:])
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("the admin token: %w", err)
	}
	return token, nil
}

func (s *Server) adminDoor() *adminDoor {
	s.house.mu.RLock()
	defer s.house.mu.RUnlock()
	return s.house.admin
}

// Admin is the address of the admin listener, "" if it is off.
func (s *Server) Admin() string {
	d := s.adminDoor()
	if d == nil {
		return ""
	}
	return d.listener.Addr().String()
}

// AdminToken is the file with the token that opens the console.
func (s *Server) AdminToken() string {
	file, _ := s.tokenFile(s.o.Config)
	return file
}

// serveAdmin answers on the admin listener until that is closed.
func (s *Server) serveAdmin(d *adminDoor) {
	if d == nil {
		return
	}
	s.helpers.Go(func() {
		err := d.web.Serve(d.porter.Listen(adminConns, adminConns))
		if err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			s.log.Error("the admin listener has ended", "err", err)
		}
	})
}

// planAdmin prepares the admin listener for a reload: bound, or nil where it is
// to be off. One whose address stays is taken over.
func (s *Server) planAdmin(c *config.Config) (*adminDoor, error) {
	old := s.adminDoor()
	if old == nil || old.configured != c.Server.AdminListen {
		return s.bindAdmin(c)
	}
	token, err := adminToken(s.tokenFile(c))
	if err != nil {
		return nil, err
	}
	file, err := transport.Duplicate(old.listener)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	l, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("the admin listener: %w", err)
	}
	d := &adminDoor{configured: old.configured, listener: l.(*net.TCPListener)}
	d.furnish(s, token)
	return d, nil
}

// drop closes a door that was prepared in vain.
func (d *adminDoor) drop() {
	if d != nil {
		d.listener.Close()
	}
}

// setAdmin lets the new door take the place of the old.
func (s *Server) setAdmin(d *adminDoor) {
	s.house.mu.Lock()
	old := s.house.admin
	s.house.admin = d
	s.house.mu.Unlock()
	s.serveAdmin(d)
	if old == nil {
		return
	}
	s.helpers.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), retireTime)
		defer cancel()
		if old.web.Shutdown(ctx) != nil {
			old.web.Close()
		}
		old.listener.Close()
	})
}
