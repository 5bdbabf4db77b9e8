package server

import (
	"crypto/tls"
	"fmt"
	"time"

	"wamble/internal/config"
	"wamble/internal/host"
)

// checkCertificates reads the certificates of all profiles that are to run, and returns an
// error if one cannot be used.
func (s *Server) checkCertificates(c *config.Config) error {
	profiles, err := s.wantedProfiles(c)
	if err != nil {
		return err
	}
	for _, cfg := range profiles {
		c, err := host.Certificate(&cfg.Network)
		if err != nil {
			return fmt.Errorf("profile %s: %w", cfg.Name, err)
		}
		s.warnOf(cfg.Name, c)
	}
	return nil
}

// warnOf logs a warning if c is not nil and browsers refuse it, or will soon.
func (s *Server) warnOf(profile string, c *tls.Certificate) {
	if c == nil {
		return
	}
	if verdict, text := host.Validity(c, time.Now()); verdict != host.SeverityOK {
		s.log.Warn(text, "profile", profile)
	}
}

// renewCertificate reads the certificate of a profile again. If that fails, the old one
// stays in use.
func (s *supervisor) renewCertificate(cfg *config.Profile) {
	if cfg.Network.Domain != "" {
		return // its certificates come from the authority
	}
	c, err := host.Certificate(&cfg.Network)
	if err != nil {
		s.log.Error("the old certificate stays in use", "err", err)
		return
	}
	s.Port().Secure(c)
}
