package admin

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"

	"wamble/internal/config"
	"wamble/internal/store"
	"wamble/internal/transport"
)

// TestDoctorOfLimits: few open files, a full disk and a buffer that no kernel grants are
// reported, and the clock always.
func TestDoctorOfLimits(t *testing.T) {
	load := func(text string) *config.Config {
		c, err := config.Load("test.conf", text, config.Params{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	p := &diagnosis{profiles: load(`(def http-max-connections 65536)`).Running()}
	p.Port = func(c *config.Profile) transport.Options {
		return transport.Options{UDP: transport.UDPOptions{Buffer: c.Network.BufferSize}}
	}
	p.files()
	p.clock()
	full := load("")
	full.Server.DiskReserve = 1 << 40 // MB: more than any disk has
	p.Config, p.Dir = full, t.TempDir()
	p.disk()
	p.profiles[0].Network.BufferSize = math.MaxInt32
	p.buffers()
	want := SeverityOK
	if was.Cur < 65536+512 {
		want = SeverityWarning
	}
	if got := p.findings[0]; got.Subject != "open files" || got.Verdict != want {
		t.Errorf("with a limit of %d: got %+v, want %v", was.Cur, got, want)
	}
	if got := p.findings[1]; got.Subject != "clock" || got.Verdict == SeverityError {
		t.Errorf("got %+v", got)
	}
	if got := p.findings[len(p.findings)-1]; got.Subject != "receive buffer of default" ||
		got.Verdict != SeverityWarning || !strings.Contains(got.Text, "2097151 KB are wanted") {
		t.Errorf("got %+v", got)
	}
	if got := p.findings[2]; got.Subject != "disk space" || got.Verdict != SeverityError ||
		!strings.Contains(got.Text, "no move would be taken") {
		t.Errorf("got %+v", got)
	}
}

// TestDoctorOfLogins: the doctor says what is open to a server that hands logins on: logins for
// any server, logins for none, or nothing.
func TestDoctorOfLogins(t *testing.T) {
	for name, tc := range map[string]struct {
		conf, text, advice string
		want               Severity
	}{
		"no name":            {"", "any other server", `(def login-servers "`, SeverityWarning},
		"no name, no legacy": {"(def login-legacy 0)", "any other server", `(def login-servers "`, SeverityWarning},
		"a domain and legacy": {`(def domain "play.example")`,
			"signed for play.example cannot be handed on, but one that names no server can", "(def login-legacy 0)",
			SeverityWarning},
		"all names, no legacy": {
			`(def login-legacy 0) (def login-servers "play.test") (def domain "play.example") (def cluster-endpoints "a.example b.example") (def cluster-host "a.example")`,
			"nothing is open: only logins that were signed for play.test play.example a.example b.example a.example",
			"", SeverityOK,
		},
		"a new file": {config.Starter() + `(def domain "play.example")`, "nothing is open", "", SeverityOK},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := config.Load("test.conf", tc.conf, config.Params{})
			if err != nil {
				t.Fatal(err)
			}
			p := &diagnosis{profiles: c.Running()}
			p.logins()
			got := p.findings[0]
			if got.Verdict != tc.want || !strings.Contains(got.Text, tc.text) ||
				!strings.Contains(got.Advice, tc.advice) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestDoctorOfEncryption: every mode of db-sslmode is explained, and those that an attacker
// on the way can get around are doubtful where the connection leaves the machine.
func TestDoctorOfEncryption(t *testing.T) {
	safe := map[string]bool{"verify-ca": true, "verify-full": true}
	for host, far := range map[string]bool{
		"db.example.org": true, "192.0.2.7": true, "2001:db8::7": true, "/run/postgresql,192.0.2.7": true,
		"localhost": false, "127.0.0.1": false, "::1": false, "/run/postgresql": false,
	} {
		for _, mode := range []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"} {
			c, err := config.Load("test.conf", fmt.Sprintf("(def db-host %q) (def db-sslmode %q)", host, mode),
				config.Params{})
			if err != nil {
				t.Fatal(err)
			}
			p := &diagnosis{profiles: c.Running()}
			p.encryption()
			want := SeverityOK
			if far && !safe[mode] {
				want = SeverityWarning
			}
			if len(p.findings) != 1 || p.findings[0].Verdict != want ||
				(p.findings[0].Advice == "") != (want == SeverityOK) {
				t.Errorf("%s to %s: got %+v, want %v", mode, host, p.findings, want)
			} else if got := p.findings[0].Text; !strings.HasPrefix(got, mode) || sslModes[mode] == "" || far &&
				!strings.HasSuffix(got, sslModes[mode]) {
				t.Errorf("%s to %s is not explained: %q", mode, host, got)
			}
		}
	}
	c, err := config.Load("test.conf", "", config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	p := &diagnosis{profiles: c.Running()}
	if p.encryption(); len(p.findings) != 0 {
		t.Errorf("SQLite: got %+v", p.findings)
	}
}

// TestDoctorOfDatabase: an error that only the host can mend has its own advice and ends a start, others do not.
func TestDoctorOfDatabase(t *testing.T) {
	away := fmt.Errorf("%w: connection refused", store.ErrTransient)
	wrong := fmt.Errorf("%w: %w", store.ErrTransient,
		&store.Unusable{Advice: "check the password", Err: errors.New("28P01")})
	for _, tc := range []struct {
		name         string
		err          error
		text, advice string
	}{
		{"away", away, "db: the database cannot do it now: connection refused",
			"check db-host; the server would wait for it"},
		{"a wrong password", wrong, "db: 28P01", "check the password; the server does not start"},
	} {
		p := &diagnosis{}
		p.unreachable("database", "check db-host", "db", tc.err)
		if f := p.findings[0]; f.Text != tc.text || f.Advice != tc.advice {
			t.Errorf("%s: got %+v", tc.name, f)
		}
	}
}
