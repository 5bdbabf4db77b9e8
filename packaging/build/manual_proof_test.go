//go:build proof

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// manual are the lines of the blocks of docs/operations.md, and what it has in backquotes.
type manual struct {
	t     *testing.T
	lines []string
}

func readManual(t *testing.T) *manual {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	b := &manual{t: t}
	quoted := regexp.MustCompile("`([^`]+)`")
	for i, part := range strings.Split(string(text), "```") {
		if i%2 == 1 {
			for line := range strings.Lines(part) {
				b.lines = append(b.lines, strings.TrimPrefix(strings.TrimSpace(line), "# "))
			}
			continue
		}
		for _, found := range quoted.FindAllStringSubmatch(strings.ReplaceAll(part, "\n", " "), -1) {
			b.lines = append(b.lines, found[1])
		}
	}
	return b
}

// quotes returns the one thing in quotation marks of the manual's lines that begins so.
func (b *manual) quotes(begin string) string {
	b.t.Helper()
	found := regexp.MustCompile(`"(`+regexp.QuoteMeta(begin)+`[^"]*)"`).FindAllStringSubmatch(strings.Join(b.lines,
		"\n"), -1)
	if len(found) != 1 {
		b.t.Fatalf("the manual quotes %d texts that begin with %q", len(found), begin)
	}
	return found[0][1]
}

var remark = regexp.MustCompile(`\s{2,}[#;].*$`)

// says returns the one line of the manual with a beginning, with pairs of its words replaced
// by those of this test.
func (b *manual) says(begin string, pairs ...string) string {
	b.t.Helper()
	said := map[string]bool{}
	for _, line := range b.lines {
		if strings.HasPrefix(line, begin) {
			said[remark.ReplaceAllString(line, "")] = true
		}
	}
	if len(said) != 1 {
		b.t.Fatalf("the manual has %d lines that begin with %q", len(said), begin)
	}
	for line := range said {
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(line, pairs[i]) {
				b.t.Fatalf("the manual says %q without %q", line, pairs[i])
			}
		}
		return strings.NewReplacer(pairs...).Replace(line)
	}
	return ""
}

// shell gives a command to root's shell.
func (m *machine) shell(line string) string {
	m.t.Helper()
	return m.do("sh", "-ec", line)
}

// typed passes a command to root's shell, and types text when it prompts.
func (m *machine) typed(line, text string) {
	m.t.Helper()
	c := m.command("sh", "-ec", line)
	c.Stdin, c.SysProcAttr.Setsid = strings.NewReader(text), true // without a terminal, programs ask standard input
	if out, err := c.CombinedOutput(); err != nil {
		m.t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// configure adds lines to the configuration, which stays with its owner.
func (m *machine) configure(lines string) {
	m.t.Helper()
	const name = "/etc/wamble/wamble.conf"
	if err := os.WriteFile(m.path(name), []byte(m.read(name)+"\n"+lines+"\n"), 0o640); err != nil {
		m.t.Fatal(err)
	}
}

// printed fails unless a command printed what 'The first hour' says: … stands for the rest of a line, and on a
// line of its own for any lines.
func printed(t *testing.T, command, page, out string) {
	t.Helper()
	pattern := regexp.MustCompile(`(?m)^…\n`).ReplaceAllString(regexp.QuoteMeta(page), `(?s:.*)`)
	pattern = strings.ReplaceAll(pattern, "…", ".*")
	if !regexp.MustCompile(`^` + pattern + `$`).MatchString(out) {
		t.Errorf("%s\nprints\n%s\nbut the manual says\n%s", command, out, page)
	}
}

// TestFirstHour gives the commands of 'The first hour' of docs/operations.md in their order to a machine without
// Wamble, with a local authority, and compares what they print.
func TestFirstHour(t *testing.T) {
	t.Log("needs minutes and root")
	if !apart(t) {
		return
	}
	book, m, a := readManual(t), newMachine(t), startAuthority(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(text), "\n## The first hour\n")
	page, _, _ = strings.Cut(page, "\n## ")
	m.write("/etc/ssl/authority.pem", string(a.Root), 0o644)
	version := 0
	for _, block := range strings.Split(page, "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, part := range strings.Split("\n"+block, "\n# ")[1:] {
			command, prints, _ := strings.Cut(part, "\n")
			if prints != "" && !strings.HasSuffix(prints, "\n") {
				prints += "\n" // before the next command
			}
			switch {
			case strings.HasPrefix(command, "apt "):
				version++
				m.fetchPackage(version, "/dist")
				command = strings.ReplaceAll(command, "amd64", runtime.GOARCH)
			case command == "wamble reload":
				m.configure(book.says("(def domain"))
			}
			printed(t, command, prints, m.shell(command))
			switch {
			case strings.HasPrefix(command, "systemctl "):
				// The local authority instead of Let's Encrypt.
				m.configure(fmt.Sprintf("(def acme-directory %q) (def acme-roots %q)", a.Directory, "/etc/ssl/authority.pem"))
				m.start()
			case command == "wamble reload":
				browser := a.browser()
				until(t, "the page has a certificate", func() bool {
					r, err := browser.Get("https://chess.example.org/")
					if err != nil {
						return false
					}
					return r.Body.Close() == nil && r.StatusCode == http.StatusOK
				})
			}
		}
	}
	if version != 2 || m.read("/run/asked") == "" {
		t.Errorf("the page installs %d packages", version)
	}
}

// sudo becomes a user as the program of that name does, which not every machine has.
const sudo = `#!/bin/sh
[ "$1" = -u ] || exit 1
user=$2
shift 2
exec runuser -u "$user" -- "$@"
`

// background runs a program of the machine until the test ends.
func (m *machine) background(c *exec.Cmd) {
	m.t.Helper()
	var said bytes.Buffer
	if c.Stdout == nil {
		c.Stdout = &said
	}
	c.Stderr = &said
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
		if m.t.Failed() {
			m.t.Logf("%s said:\n%s", c.Args[1], &said)
		}
	})
}

// until waits until ok.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	within(t, patience, what, ok)
}

func within(t *testing.T, d time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(d); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// databaseDir is where PostgreSQL has its files.
const databaseDir = "/var/lib/postgresql/host-test"

// postgres starts PostgreSQL as Debian does: at its socket, for users of the machine.
// prepare may change its files before.
func (m *machine) postgres(prepare func(uid, gid uint32), settings ...string) {
	m.t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(found) == 0 {
		m.t.Fatal("PostgreSQL is not installed: scripts/setup test")
	}
	bin := found[len(found)-1]
	uid, gid := m.user("postgres")
	for _, dir := range []string{databaseDir, "/run/postgresql"} {
		if err := os.MkdirAll(m.path(dir), 0o755); err != nil {
			m.t.Fatal(err)
		}
		if err := os.Chown(m.path(dir), int(uid), int(gid)); err != nil {
			m.t.Fatal(err)
		}
	}
	as := func(args ...string) *exec.Cmd {
		c := m.command(args[0], args[1:]...)
		c.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: gid}
		return c
	}
	if out, err := as(bin+"/initdb", "-D", databaseDir, "-A", "peer", "-E", "UTF8", "--no-locale",
		"--no-sync").CombinedOutput(); err != nil {
		m.t.Fatalf("initdb: %v\n%s", err, out)
	}
	if prepare != nil {
		prepare(uid, gid)
	}
	args := []string{bin + "/postgres", "-D", databaseDir, "-c", "listen_addresses=", "-c",
		"unix_socket_directories=/run/postgresql", "-c", "fsync=off"}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	m.background(as(args...))
	until(m.t, "PostgreSQL answers",
		func() bool { return as(bin+"/pg_isready", "-q", "-h", "/run/postgresql").Run() == nil })
}

// certificate makes an authority, and a certificate of it for a name. All are PEM.
func certificate(t *testing.T, name string) (authority, cert, key string) {
	t.Helper()
	sign := func(c, by *x509.Certificate, signer *ecdsa.PrivateKey) (string, *ecdsa.PrivateKey) {
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if signer == nil {
			signer = own
		}
		c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(1), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, c, by, &own.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), own
	}
	root := &x509.Certificate{Subject: pkix.Name{CommonName: "authority of a test"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	authority, signer := sign(root, root, nil)
	cert, own := sign(&x509.Certificate{DNSNames: []string{name}}, root, signer)
	secret, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return authority, cert, string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}))
}

// TestManualFarDatabase follows the manual to PostgreSQL on another machine: with a
// password in a file, over TLS that proves the name of that machine.
func TestManualFarDatabase(t *testing.T) {
	t.Log("needs minutes and root")
	if !apart(t) {
		return
	}
	book, m := readManual(t), newMachine(t)
	m.write("/usr/bin/sudo", sudo, 0o755)
	authority, cert, key := certificate(t, "db.example.org")
	m.write("/etc/ssl/certs/ca-certificates.crt", m.read("/etc/ssl/certs/ca-certificates.crt")+authority, 0o644)
	m.write("/etc/hosts", "127.0.0.1 localhost db.example.org\n", 0o644)
	m.postgres(func(uid, gid uint32) {
		allowed := strings.Replace(book.quotes("hostssl "), "ADDRESS", "127.0.0.1/32", 1)
		for name, text := range map[string]string{"server.crt": cert, "server.key": key,
			"pg_hba.conf": "local all postgres peer\n" + allowed + "\n"} {
			m.write(databaseDir+"/"+name, text, 0o600)
			if err := os.Chown(m.path(databaseDir+"/"+name), int(uid), int(gid)); err != nil {
				t.Fatal(err)
			}
		}
	}, "listen_addresses=127.0.0.1", "ssl=on")
	m.fetchPackage(1, "/dist")
	m.shell(book.says("apt install ./", "amd64", runtime.GOARCH))
	m.typed(book.says("sudo -u postgres createuser --pwprompt"), "a secret\na secret\n")
	m.typed(book.says("install -m 0640 -g wamble /dev/stdin"), "a secret\n")
	m.configure(book.says(`(def db-host "db.example.org")`))
	m.shell(book.says("wamble check FILE", "FILE", "/etc/wamble/wamble.conf"))
	if got := m.shell(book.says("wamble doctor --user wamble")); !strings.Contains(got,
		"verify-full: encrypted, and the server has proved its name") || !strings.Contains(got, "at db.example.org") {
		t.Errorf("the doctor says\n%s", got)
	}
	m.start()
	m.background(m.command("wamble", "bot", "--pace", "20ms", "udp://127.0.0.1:8888"))
	ask := func(question string) string {
		return strings.TrimSpace(m.shell(`sudo -u postgres psql -At -c "` + question + `" wamble`))
	}
	until(t, "moves are in the database", func() bool { return ask("SELECT count(*) > 0 FROM moves") == "t" })
	if got := ask("SELECT count(*) > 0 AND bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'wamble'"); got != "t" {
		t.Errorf("the connections are encrypted: %s", got)
	}
}

// authority is a local ACME server.
type authority struct {
	Directory    string
	Root, Issuer []byte
	orders       atomic.Int32
}

func startAuthority(t *testing.T) *authority {
	t.Helper()
	c := exec.Command(filepath.Join(os.Getenv("WAMBLE_PACKAGES"), "authority"))
	c.Env = append(os.Environ(), "WAMBLE_TEST_AUTHORITY=1")
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); c.Wait() })
	lines := bufio.NewScanner(out)
	a := &authority{}
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), a) != nil {
		t.Fatalf("no authority: %q", lines.Text())
	}
	go func() {
		for lines.Scan() {
			a.orders.Add(1)
		}
	}()
	return a
}

// browser trusts the authority, and finds every name on this machine.
func (a *authority) browser() *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.Issuer)
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, _ := net.SplitHostPort(address)
		return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+port)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: roots},
		DisableKeepAlives: true}}
}

// ask sends a request to the admin listener, and returns code and body.
func ask(t *testing.T, token, path, body string) (int, string) {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequest(method, "http://127.0.0.1:8887"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// moves are those that the server has accepted since its start.
func (m *machine) moves() (n int) {
	m.t.Helper()
	var status struct{ Profiles []struct{ Moves int } }
	if err := json.Unmarshal([]byte(m.do("wamble", "status", "--json", "--data", "/var/lib/wamble")),
		&status); err != nil {
		m.t.Fatal(err)
	}
	for _, p := range status.Profiles {
		n += p.Moves
	}
	return n
}

// TestManual follows docs/operations.md as a host would, word by word, from the package to a
// server with HTTPS, PostgreSQL, a second admin and a dashboard, which is backed up, also on
// a schedule, announces an upgrade and is upgraded while players play, and is restored.
func TestManual(t *testing.T) {
	t.Log("needs minutes and root")
	if !apart(t) {
		return
	}
	book, m := readManual(t), newMachine(t)
	m.write("/usr/bin/sudo", sudo, 0o755)
	m.postgres(nil)
	a := startAuthority(t)
	install := book.says("apt install ./", "amd64", runtime.GOARCH)

	m.fetchPackage(1, "/dist")
	m.shell(install)
	m.write("/etc/ssl/authority.pem", string(a.Root), 0o644)
	m.configure(fmt.Sprintf("(def acme-directory %q) (def acme-roots %q)", a.Directory, "/etc/ssl/authority.pem")) // instead of Let's Encrypt
	pid := m.start()
	m.shell(book.says("sudo -u postgres createuser wamble"))
	m.shell(book.says("install -d -m 0700 -o wamble -g wamble /var/backups"))
	m.configure(book.says(`(def db-host "/var/run`) + "\n" + book.says("(def domain") + "\n" +
		book.says("(def backup-dir"))
	m.shell(book.says("wamble check FILE", "FILE", "/etc/wamble/wamble.conf"))
	m.shell(book.says("wamble doctor --user wamble"))
	m.shell(book.says("wamble reload --dry-run"))
	m.shell("wamble reload")

	const site = "https://chess.example.org/"
	browser := a.browser()
	var number string // of the certificate
	page := func() bool {
		r, err := browser.Get(site)
		if err != nil {
			return false
		}
		defer r.Body.Close()
		number = r.TLS.PeerCertificates[0].SerialNumber.String()
		return r.StatusCode == http.StatusOK
	}
	until(t, "the page has a certificate", page)
	first, orders := number, a.orders.Load()

	moderator := strings.Fields(m.shell(book.says("wamble token-create NAME read|", "NAME", "ann",
		"read|moderate|operate", "moderate") + " 2>/run/stderr"))[0]
	for _, c := range []struct {
		path, body string
		want       int
	}{
		{"/console/api/status", "", http.StatusOK},
		{"/console/api/act/ban", `{"whom": "192.0.2.7", "text": "why"}`, http.StatusOK},
		{"/console/api/act/drain", `{"on": true}`, http.StatusForbidden},
	} {
		if code, text := ask(t, moderator, c.path, c.body); code != c.want {
			t.Errorf("a moderator at %s: %d %s", c.path, code, text)
		}
	}
	m.background(m.command("wamble", "bot", "--seats", "4", "--pace", "20ms", "udp://127.0.0.1:8888"))
	until(t, "players play", func() bool { return m.moves() > 20 })
	m.prometheus(book)
	m.dashboard()

	const news = "We move to a new machine." // in the words of the manual
	m.shell(book.says("wamble announce --countdown --for 30m"))
	announced := func(when string) {
		t.Helper()
		if got := m.shell(book.says("wamble announcements")); !strings.Contains(got, "countdown") ||
			!strings.Contains(got, news) {
			t.Errorf("%s there are the announcements\n%s", when, got)
		}
	}
	announced("at first")
	// Before the one by hand, which does not wait for it. An attempt that fails is followed
	// by another one 80 s later.
	within(t, 3*patience, "the server makes a backup by itself", func() bool {
		made, _ := filepath.Glob(m.path("/var/backups/wamble/wamble-*/backup.json"))
		return len(made) == 1
	})
	before := m.moves()
	m.shell(book.says("wamble backup /var/backups/wamble-$(date +%F) --dump"))
	m.fetchPackage(2, "/dist")
	m.shell(install)
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || strings.HasSuffix(exe, "(deleted)") {
		t.Errorf("after the upgrade the process runs %s, %v", exe, err)
	}
	if got := m.do("wamble", "version"); !strings.Contains(got, "commit 2222") {
		t.Errorf("after the upgrade: %s", got)
	}
	until(t, "they play on", func() bool { return m.moves() > before+20 })
	announced("after the upgrade")
	m.background(m.command("sh", "-c",
		"exec wamble play --plain --watch --state /run/newcomer udp://127.0.0.1:8888 >/run/told"))
	until(t, "a newcomer is told how long it is",
		func() bool { return strings.Contains(m.read("/run/told"), news+" In 2") })
	upgraded := m.moves()
	m.fetchPackage(1, "/old")
	m.typed(book.says("apt install --allow-downgrades", "amd64", runtime.GOARCH), "y\n")
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || strings.HasSuffix(exe, "(deleted)") {
		t.Errorf("after the way back the process runs %s, %v", exe, err)
	}
	if got := m.do("wamble", "version"); !strings.Contains(got, "commit 1111") {
		t.Errorf("after the way back: %s", got)
	}
	until(t, "they still play", func() bool { return m.moves() > upgraded+20 })

	m.shell(book.says("systemctl stop wamble"))
	if got := m.shell(book.says("wamble fsck --data")); !strings.Contains(got, "ok   journal") {
		t.Errorf("fsck says\n%s", got)
	}
	m.shell(book.says("sudo -u postgres dropdb"))
	m.shell(book.says("sudo -u postgres pg_restore"))
	made, _ := filepath.Glob(m.path("/var/backups/wamble-*"))
	if len(made) != 1 {
		t.Fatalf("backups: %q", made)
	}
	m.shell(book.says("wamble restore /var/backups/wamble-2026-11-16 --verify", "wamble-2026-11-16",
		filepath.Base(made[0])))
	m.start()
	count := m.shell(`sudo -u postgres psql -At -c "SELECT count(*) >= ` + fmt.Sprint(before) + ` FROM moves" wamble`)
	if strings.TrimSpace(count) != "t" {
		t.Errorf("after the restore not all of %d moves are there", before)
	}
	until(t, "the page is back", page)
	if number != first || a.orders.Load() != orders {
		t.Errorf("%d certificates were ordered, of which the first was %s", a.orders.Load(), first)
	}
	announced("after the restart")
	until(t, "they play again", func() bool { return m.moves() > 0 })
}
