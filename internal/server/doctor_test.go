package server

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wamble/internal/admin"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
)

// TestDoctor: the doctor reports each fault with advice, and passes what is right.
func TestDoctor(t *testing.T) {
	t.Parallel()
	taken, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.LocalAddr().String())
	open, hidden := t.TempDir(), t.TempDir()
	for dir, mode := range map[string]os.FileMode{open: 0o755, hidden: 0o700} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	console, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer console.Close()
	_, consolePort, _ := net.SplitHostPort(console.Addr().String())
	broken := private(t)
	if err := os.WriteFile(filepath.Join(broken, "games.db"), []byte(strings.Repeat("no database ", 100)),
		0o600); err != nil {
		t.Fatal(err)
	}
	cert, key := filepath.Join(broken, "cert.pem"), filepath.Join(broken, "key.pem")
	makeCertificateUntil(t, cert, key, 1, time.Now().Add(-time.Hour))
	current, newer, empty := pgtest.Migrated(t), pgtest.Migrated(t), pgtest.Empty(t)
	pgtest.Execute(t, newer, "INSERT INTO schema_migrations (version, name) VALUES (999, 'of tomorrow')")
	for db, role := range map[postgres.Options]string{current: "reads", empty: "stranger"} {
		pgtest.Execute(t, db, "CREATE ROLE doctor_"+role+" LOGIN")
		t.Cleanup(func() { pgtest.Forget(t, db, "doctor_"+role) })
	}
	reader, stranger := current, empty
	reader.User, stranger.User = "doctor_reads", "doctor_stranger"
	pgtest.Execute(t, current,
		"GRANT CREATE ON SCHEMA public TO doctor_reads; GRANT SELECT ON ALL TABLES IN SCHEMA public TO doctor_reads")
	pgtest.Execute(t, empty, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
	const own = `(def listen-address "127.0.0.1") (def disk-reserve-mb 0) `
	for _, tc := range []struct {
		name, conf, dir string
		subject         string
		verdict         admin.Severity
		text            string
	}{
		{"a good directory", own + `(def port 0)`, hidden, "data directory", admin.SeverityOK, hidden},
		{"others may look", own + `(def port 0)`, open, "data directory", admin.SeverityWarning, "others may look into " + open},
		{"room", own + `(def port 0)`, hidden, "disk space", admin.SeverityOK, "MB are free"},
		{"fsync", own + `(def port 0) (def durability "write")`, hidden, "fsync", admin.SeverityOK, "in the middle"},
		{"nowhere to write", own + `(def port 0)`, "/proc/wamble", "fsync", admin.SeverityError, "/proc/"},
		{"a free port", own + `(def port 0)`, hidden, "ports of default", admin.SeverityOK, "are free"},
		{"a port that is taken", own + `(def port ` + port + `)`, hidden, "ports of default", admin.SeverityError, "address already in use"},
		{"a small buffer", own + `(def port 0) (def buffer-size 65536)`, hidden, "receive buffer of default", admin.SeverityOK, " KB"},
		{"an SQLite database to come", own + `(def port 0)`, hidden, "database", admin.SeverityOK, "is made at the first start"},
		{"PostgreSQL", own + `(def port 0)` + postgresConf(current), hidden, "database", admin.SeverityOK, "(PostgreSQL "},
		{"a newer schema", own + `(def port 0)` + postgresConf(newer), hidden, "database", admin.SeverityError, "has schema 999, this binary knows"},
		{"no schema", own + `(def port 0)` + postgresConf(empty), hidden, "database", admin.SeverityWarning, "is to be migrated"},
		{"no right to make tables", own + `(def port 0)` + postgresConf(stranger), hidden, "database", admin.SeverityError, "doctor_stranger may create no tables in the schema public"},
		{"tables of somebody else", own + `(def port 0)` + postgresConf(reader), hidden, "database", admin.SeverityWarning, "doctor_reads is not the owner of boards, "},
		{"a journal without a standby", own + `(def port 0) (def journal "postgres")` + postgresConf(current), hidden, "journal", admin.SeverityWarning, "waits for no standby"},
		{"a journal that is away", own + `(def port 0) (def journal "postgres") (def journal-db-host "127.0.0.1") (def journal-db-port 1)` + postgresConf(current), hidden, "journal", admin.SeverityError, "127.0.0.1:1"},
		{"a free admin listener", own + `(def port 0) (def admin-listen "127.0.0.1:0")`, hidden, "admin listener", admin.SeverityOK, "is free"},
		{"an admin listener that is taken", own + `(def port 0) (def admin-listen "` + console.Addr().String() + `")`, hidden, "admin listener", admin.SeverityError, "address already in use"},
		{"a redirect that is taken", own + `(def port 0) (def http-port 1) (def domain "a.org") (def redirect-port ` + consolePort + `)`, hidden, "redirect-port", admin.SeverityError, "address already in use"},
		{"an engine", own + `(def port 0) (def house-bots 1) (def house-bot-engine "sh -c")`, hidden, "house-bot-engine of default", admin.SeverityOK, "/sh"},
		{"an engine that is missing", own + `(def port 0) (def house-bots 1) (def house-bot-engine "no-such-engine")`, hidden, "house-bot-engine of default", admin.SeverityWarning, "no-such-engine"},
		{"a certificate that has expired", own + `(def port 0) (def tls-cert "` + cert + `") (def tls-key "` + key + `")`, hidden, "TLS of default", admin.SeverityWarning, "has expired on "},
		{"an SQLite database that is none", own + `(def port 0)`, broken, "database", admin.SeverityError, "games.db"},
		{"a data directory that cannot be made", own + `(def port 0)`, "/proc/nobody/data", "data directory", admin.SeverityError, "cannot be made"},
		{"no database", own + `(def port 0) (def db-host "127.0.0.1") (def db-port 1) (def db-name "x")`, hidden, "database", admin.SeverityError, "PostgreSQL x at 127.0.0.1:1"},
	} {
		var found *admin.Finding
		for _, f := range Examine(t.Context(), loadConf(t, tc.conf), tc.dir) {
			if f.Subject == tc.subject {
				found = &f
			}
			if (f.Verdict == admin.SeverityOK) != (f.Advice == "") {
				t.Errorf("%s: %+v: whoever is ill gets advice, and nobody else", tc.name, f)
			}
		}
		if found == nil {
			t.Errorf("%s: nothing is said of %s", tc.name, tc.subject)
		} else if found.Verdict != tc.verdict || !strings.Contains(found.Text, tc.text) {
			t.Errorf("%s: got %v %q, want %v %q", tc.name, found.Verdict, found.Text, tc.verdict, tc.text)
		}
	}
}
