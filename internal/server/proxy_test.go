package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wamble"
	"wamble/client"
	"wamble/internal/admin"
	"wamble/internal/config"
	"wamble/internal/watchtest"
)

// proxied starts a proxy with a file of packaging/proxy in front of a server, and returns
// where it listens. It connects from 127.0.0.2.
func proxied(t *testing.T, name, file, certificate string, server string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../packaging/proxy", file))
	if err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprintf("127.0.0.1:%d", freePorts(t, 1)[0])
	dir := t.TempDir()
	conf := filepath.Join(dir, file)
	example, args := "", []string{"-db", "-f", conf}
	switch name {
	case "haproxy":
		example = strings.NewReplacer("bind :443", "bind "+at, "/etc/haproxy/wamble.pem", certificate,
			"server wamble 127.0.0.1:8888", "server wamble "+server+" source 127.0.0.2").Replace(string(text))
	case "nginx":
		args = []string{"-p", dir, "-c", conf}
		example = strings.NewReplacer("listen 443 ssl", "listen "+at+" ssl", "listen [::]:443 ssl;", "",
			"server 127.0.0.1:8888", "server "+server,
			"/etc/letsencrypt/live/chess.example.org/fullchain.pem", certificate,
			"/etc/letsencrypt/live/chess.example.org/privkey.pem", certificate,
			"proxy_pass", "proxy_bind 127.0.0.2; proxy_pass").Replace(string(text))
		example = "daemon off; master_process off; error_log stderr; pid pid; events {} http { access_log off; client_body_temp_path body; proxy_temp_path proxy; " +
			"fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;\n" + example + "}"
	}
	if err := os.WriteFile(conf, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	out := &watchtest.Log{}
	ctx, stop := context.WithCancel(context.Background())
	program := "/usr/sbin/" + name // not on every PATH
	if path, err := exec.LookPath(name); err == nil {
		program = path
	}
	c := exec.CommandContext(ctx, program, args...)
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		t.Fatalf("%v (scripts/setup installs it)", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; t.Failed() {
			t.Logf("%s: %v\n%s", name, err, out)
		}
	})
	until(t, name+" listens", func() bool {
		conn, err := net.Dial("tcp", at)
		if err == nil {
			conn.Close()
		}
		if len(ended) > 0 {
			t.Fatal(name + " has ended")
		}
		return err == nil
	})
	return at
}

// TestBehindProxy: through HAProxy and nginx, as packaging/proxy sets them up, the server
// sees the address of its players: a ban of the proxy's address does not affect them, a ban
// of their own address does. An untrusted proxy is not believed.
func TestBehindProxy(t *testing.T) {
	for _, c := range []struct {
		name, file string
		tls        bool // the server's own
	}{{"haproxy", "haproxy.cfg", false}, {"haproxy", "haproxy-passthrough.cfg", true}, {"nginx", "nginx.conf", false}} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			dir := private(t)
			cert, key, both := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"),
				filepath.Join(dir, "both.pem")
			roots := x509.NewCertPool()
			roots.AddCert(makeCertificate(t, cert, key, 1))
			joined := ""
			for _, name := range []string{cert, key} {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				joined += string(text)
			}
			if err := os.WriteFile(both, []byte(joined), 0o600); err != nil {
				t.Fatal(err)
			}
			text := conf(`(def trusted-proxies "127.0.0.2")`)
			if c.tls {
				text += fmt.Sprintf("(def tls-cert %q) (def tls-key %q)", cert, key)
			}
			load := func() (*config.Config, error) { return config.Load("test.conf", text, config.Params{}) }
			s := serve(t, Options{Dir: dir, Load: load}, text).ready()
			at := proxied(t, c.name, c.file, both, s.Addresses().HTTP.String())
			denied := func() *wamble.Denied {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				d := &client.Dialer{TLS: &tls.Config{RootCAs: roots}}
				conn, err := d.Dial(ctx, "wss://"+at+"/ws")
				if no := (*wamble.Denied)(nil); errors.As(err, &no) {
					return no
				}
				if err != nil {
					t.Fatal(err)
				}
				conn.Close()
				return nil
			}
			s.command("ban", admin.Arguments{Whom: "127.0.0.2"})
			if d := denied(); d != nil {
				t.Errorf("when the proxy's address is banned: %v", d)
			}
			s.command("ban", admin.Arguments{Whom: "127.0.0.1"})
			if d := denied(); d == nil || d.Code != wamble.AccessDenied {
				t.Errorf("when the player's address is banned: %v", d)
			}
			if c.tls {
				return // without trust a header of the PROXY protocol is no TLS
			}
			s.command("unban", admin.Arguments{Whom: "127.0.0.1"})
			text = conf("")
			if _, err := s.Reload(t.Context()); err != nil {
				t.Fatal(err)
			}
			if d := denied(); d == nil || d.Code != wamble.AccessDenied {
				t.Errorf("when the proxy is trusted no more, and its address is banned: %v", d)
			}
		})
	}
}
