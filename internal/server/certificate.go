package server

import (
	"crypto/tls"
	"fmt"

	"wamble/internal/config"
)

// certificateOf reads the certificate of a profile; nil if it has none.
func certificateOf(cfg *config.Profile) (*tls.Certificate, error) {
	n := &cfg.Network
	if n.TLSCert == "" {
		return nil, nil
	}
	c, err := tls.LoadX509KeyPair(n.TLSCert, n.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("the TLS certificate: %w", err)
	}
	return &c, nil
}

// checkCertificates reads the certificates of all profiles that are to run, so
// that a bad one is found before anything changes.
func (s *Server) checkCertificates(c *config.Config) error {
	profiles, err := s.wanted(c)
	if err != nil {
		return err
	}
	for _, cfg := range profiles {
		if _, err := certificateOf(cfg); err != nil {
			return fmt.Errorf("profile %s: %w", cfg.Name, err)
		}
	}
	return nil
}

// renewCertificate reads the certificate of a profile again. A file that has
// become bad since it was checked leaves the old one in use.
func (k *supervisor) renewCertificate(cfg *config.Profile) {
	c, err := certificateOf(cfg)
	if err != nil {
		k.log.Error("the old certificate stays in use", "err", err)
		return
	}
	k.Port().Secure(c)
}
