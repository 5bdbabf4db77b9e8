package server

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"wamble/internal/observe"
)

// TestAdmin: the metrics need the token and one of the allowed Host headers; health needs
// neither the token nor the admin listener.
func TestAdmin(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("")).ready()
	text, err := os.ReadFile(s.dir + "/admin-token")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(s.dir + "/admin-token"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token's file: %v, %v", info.Mode(), err)
	}
	token := strings.TrimSpace(string(text))
	_, port, _ := net.SplitHostPort(s.Admin())
	for _, tc := range []struct {
		name, path, host, auth string
		want                   int
	}{
		{"metrics", "/metrics", "", "Bearer " + token, 200},
		{"metrics by localhost", "/metrics", "localhost:" + port, "Bearer " + token, 200},
		{"metrics by IPv6", "/metrics", "[::1]:" + port, "Bearer " + token, 200},
		{"no token", "/metrics", "", "", 401},
		{"a wrong token", "/metrics", "", "Bearer " + strings.Repeat("0", len(token)), 401},
		{"no token at all", "/metrics", "", "Bearer ", 401},
		{"a name of the web", "/metrics", "evil.example:" + port, "Bearer " + token, 421},
		{"health", "/healthz", "", "", 200},
		{"health by a name of the web", "/healthz", "evil.example", "", 421},
		{"nothing there", "/nothing", "", "", 404},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.Admin()+tc.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Host = tc.host; tc.auth != "" {
				r.Header.Set("Authorization", tc.auth)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != tc.want {
				body, _ := io.ReadAll(resp.Body)
				t.Errorf("got %d %s, want %d", resp.StatusCode, body, tc.want)
			}
		})
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.Admin()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("host", token)
	if resp, err := http.DefaultClient.Do(r); err != nil || resp.StatusCode != 200 {
		t.Errorf("the token as a password: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	s.end()
	// The same token opens the next server on the directory.
	s = serve(t, Options{Dir: s.dir}, conf("")).ready()
	if got := s.metrics(); !strings.HasPrefix(got, "200 ") {
		t.Errorf("after a restart: %.40s", got)
	}
}

// TestAdminLimits: head, body and connections are bounded.
func TestAdminLimits(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("")).ready()
	answer := func(request string) string {
		t.Helper()
		c, err := net.Dial("tcp", s.Admin())
		if err != nil {
			return "" // closed as soon as it was accepted
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(patience))
		io.WriteString(c, request) // the server may close as soon as it has read enough
		text, _ := io.ReadAll(io.LimitReader(c, 4096))
		return string(text)
	}
	if got := answer("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) +
		"\r\n\r\n"); !strings.Contains(got, " 431 ") {
		t.Errorf("a long head: %.80q", got)
	}
	var held []net.Conn
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	hold := func(request string) net.Conn {
		c, err := net.Dial("tcp", s.Admin())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
		c.SetDeadline(time.Now().Add(patience))
		fmt.Fprint(c, request)
		return c
	}
	const health = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
	for range observe.AdminConns { // idle after an answer
		if _, err := hold(health + "\r\n").Read(make([]byte, 512)); err != nil {
			t.Fatal(err)
		}
	}
	if got := answer(health + "Connection: close\r\n\r\n"); !strings.Contains(got, " 200 ") {
		t.Errorf("behind idle connections: %.80q", got)
	}
	for range observe.AdminConns {
		hold(health) // half a head
	}
	if got := answer(health + "Connection: close\r\n\r\n"); !strings.Contains(got, " 200 ") {
		t.Errorf("behind half-sent requests: %.80q", got)
	}
}
