package admin

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"wamble/internal/config"
)

// expiresSoon is how long before its end a certificate is warned of, or a sixth of its
// lifetime if that is shorter.
const expiresSoon = 14 * 24 * time.Hour

// Certificate reads the certificate of a profile; nil if it has none.
func Certificate(n *config.Network) (*tls.Certificate, error) {
	if n.TLSCert == "" {
		return nil, nil
	}
	c, err := tls.LoadX509KeyPair(n.TLSCert, n.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("the TLS certificate: %w", err)
	}
	return &c, nil
}

// Validity returns until when a certificate is valid, as text with a verdict.
func Validity(c *tls.Certificate, now time.Time) (Severity, string) {
	begin, end := c.Leaf.NotBefore, c.Leaf.NotAfter
	day := func(t time.Time) string { return t.UTC().Format(time.DateOnly) }
	switch {
	case now.Before(begin):
		return SeverityWarning, "the TLS certificate is not valid before " + day(begin)
	case !now.Before(end):
		return SeverityWarning, "the TLS certificate has expired on " + day(end) + ": browsers refuse it"
	case end.Sub(now) < min(expiresSoon, end.Sub(begin)/6):
		return SeverityWarning, "the TLS certificate expires on " + day(end)
	}
	return SeverityOK, "the TLS certificate is valid until " + day(end)
}

// Secrets checks the certificate and password files of profiles and of the journal.
func Secrets(c *config.Config, profiles []*config.Profile, now time.Time) []Finding {
	p := &diagnosis{}
	for _, cfg := range profiles {
		p.certificate(cfg, now)
		if cfg.Postgres() {
			p.password("db-pass-file of "+cfg.Name, cfg.Database)
		}
	}
	if c.Server.Journal == "postgres" && c.Server.JournalPassFile != "" {
		p.password("journal-db-pass-file", c.JournalStore())
	}
	return p.findings
}

func (p *diagnosis) certificate(cfg *config.Profile, now time.Time) {
	subject := "TLS of " + cfg.Name
	c, err := Certificate(&cfg.Network)
	switch {
	case err != nil:
		p.add(SeverityError, subject, "tls-cert and tls-key name files in PEM that the user who runs the server may "+
			"read; with certbot see LoadCredential= in docs/operations.md", "%v", err)
	case c != nil:
		verdict, text := Validity(c, now)
		p.add(verdict, subject, "renew it, then 'wamble reload'", "%s", text)
	}
}

func (p *diagnosis) password(subject string, db config.Database) {
	file := db.PassFile
	if file == "" {
		return
	}
	info, err := os.Stat(file)
	if err == nil {
		_, err = db.Password(os.ReadFile)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.add(SeverityError, subject, "write the password there: install -m 0640 -g wamble /dev/stdin "+file,
			"there is no file %s", file)
	case err != nil:
		p.add(SeverityError, subject,
			"let the user who runs the server read it: chgrp wamble "+file+"; chmod 640 "+file,
			"%v", err)
	case info.Mode().Perm()&0o004 != 0:
		p.add(SeverityWarning, subject, "chmod o= "+file, "everybody on this machine may read %s", file)
	default:
		p.add(SeverityOK, subject, "", "%s can be read", file)
	}
}

func (p *diagnosis) secrets() {
	p.findings = append(p.findings, Secrets(p.Config, p.profiles, time.Now())...)
}
