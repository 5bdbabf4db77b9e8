package observe

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
	"net/http/pprof"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"wamble/internal/loop"
	"wamble/internal/transport"
	"wamble/runner"
)

// AdminOptions are the parameters of the admin listener.
type AdminOptions struct {
	Address string                  // the option admin-listen
	Knows   func(token string) bool // reports whether a token may read the metrics
	// Operates reports whether a token may change the server. It may read profiles of the
	// program, too: a list of goroutines has arguments of functions, and so parts of tokens.
	Operates func(token string) bool
	Ready    func() (up bool, why string)
	Profiles func() []*loop.Runtime // the running shards
	Journal  *runner.Runner
	// Parts returns the partitions of a shared journal on this node, by index; nil if
	// Journal has all. Node is then the name of this node.
	Parts   func() map[int]*runner.Runner
	Node    string
	Version string // of the program
	Web     *Web   // metrics of HTTP; may be nil
	Pprof   bool   // serve profiles of the program
	// Panicked is called with a panic, which is answered with 500; it may be nil.
	Panicked func(error)
	// Console serves the console, which checks tokens itself.
	Console http.Handler
}

// Admin is the admin listener, with metrics and console. Health checks need no token. All
// requests need a Host that is an address or localhost, which prevents DNS rebinding.
type Admin struct {
	*transport.Pauser // wraps listener and web
	Listener          *net.TCPListener
	Address           string // the option admin-listen
	web               *http.Server
	panicked          func(error) // may be nil
}

// The limits of the admin listener.
const (
	AdminConns   = 64
	adminBody    = 64 << 10
	adminHeaders = 8 << 10
	minToken     = 16 // characters
)

// NewAdmin returns an admin listener. Serve starts it.
func NewAdmin(l *net.TCPListener, o AdminOptions) *Admin {
	a := &Admin{Listener: l, Address: o.Address, panicked: o.Panicked}
	mux := Health(o.Ready)
	mux.Handle("GET /{$}", http.RedirectHandler("/console/", http.StatusFound))
	mux.Handle("/console/", o.Console)
	mux.Handle("GET /metrics", secured(o.Knows, promhttp.HandlerFor(registry(o), promhttp.HandlerOpts{})))
	if o.Pprof {
		mux.Handle("GET /debug/pprof/", secured(o.Operates, http.HandlerFunc(pprof.Index)))
		mux.Handle("GET /debug/pprof/cmdline", secured(o.Operates, http.HandlerFunc(pprof.Cmdline)))
		mux.Handle("GET /debug/pprof/profile", secured(o.Operates, patient(pprof.Profile)))
		mux.Handle("GET /debug/pprof/symbol", secured(o.Operates, http.HandlerFunc(pprof.Symbol)))
		mux.Handle("GET /debug/pprof/trace", secured(o.Operates, patient(pprof.Trace)))
	}
	a.web = &http.Server{
		Handler:           transport.RecoverPanics(http.MaxBytesHandler(local(mux), adminBody), o.Panicked),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute,
		WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: adminHeaders,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0), // errors of clients
	}
	a.Pauser = transport.NewPauser(l, a.web)
	return a
}

// pprofTime bounds the recording of a profile.
const pprofTime = 2 * time.Minute

// patient raises the write deadline of an answer to pprofTime.
func patient(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).SetWriteDeadline(time.Now().Add(pprofTime))
		next(w, r)
	})
}

// Renew returns another admin listener on the socket of this one.
func (a *Admin) Renew(o AdminOptions) (*Admin, error) {
	file, err := transport.Duplicate(a.Listener)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	l, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("the admin listener: %w", err)
	}
	return NewAdmin(l.(*net.TCPListener), o), nil
}

// Serve answers until the listener is closed.
func (a *Admin) Serve() error {
	err := a.web.Serve(a.Listen(AdminConns, AdminConns, a.panicked))
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Close closes the listener and all connections. It does nothing if a is nil.
func (a *Admin) Close() error {
	if a == nil {
		return nil
	}
	a.web.Close()
	if err := a.Listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Retire closes the listener. Requests that are being answered have until ctx ends.
func (a *Admin) Retire(ctx context.Context) {
	if a.web.Shutdown(ctx) != nil {
		a.web.Close()
	}
	a.Listener.Close()
}

// local refuses requests whose Host is neither an address nor localhost, because another name
// may be an attacker's that resolves to this address.
func local(next http.Handler) http.Handler {
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

// secured passes on requests with a token that may do that, as bearer or as password.
func secured(may func(token string) bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !bearer {
			_, given, _ = r.BasicAuth()
		}
		if !may(given) {
			w.Header().Set("WWW-Authenticate", `Basic realm="wamble", charset="UTF-8"`)
			plain(w, http.StatusUnauthorized,
				"the admin token is wanted, as bearer or as password; admin-token-file says where it is, else it is in the data directory\n")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Same returns a function that compares a text with a token in constant time.
func Same(token string) func(given string) bool {
	known := sha256.Sum256([]byte(token))
	return func(given string) bool {
		sum := sha256.Sum256([]byte(given))
		return subtle.ConstantTimeCompare(sum[:], known[:]) == 1
	}
}

// Token returns the admin token in a file. If own is set, a missing file is created with a new
// token.
func Token(file string, own bool) (string, error) {
	f, err := os.Open(file)
	if own && errors.Is(err, fs.ErrNotExist) {
		return newToken(file)
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

func newToken(file string) (string, error) {
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
