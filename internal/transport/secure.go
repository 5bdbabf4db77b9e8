package transport

import (
	"crypto/tls"
	"net"
	"sync/atomic"
)

// secureListener makes new connections speak TLS while secrets is set. Open connections keep
// their certificate.
type secureListener struct {
	net.Listener
	secrets *atomic.Pointer[secrets]
}

// secrets are the TLS configuration and a function that returns the current certificate, which
// may be nil.
type secrets struct {
	config  *tls.Config
	current func() *tls.Certificate
}

// Accept does not wait for the TLS handshake: the first read does it, under the limits of the
// HTTP server.
func (l secureListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if s := l.secrets.Load(); s != nil {
		return tls.Server(c, s.config), nil
	}
	return c, nil
}

// Secure makes future connections of HTTP and WebSocket use TLS with a certificate; nil turns
// TLS off.
func (p *Port) Secure(certificate *tls.Certificate) {
	if certificate == nil {
		p.first.secrets.Store(nil)
		return
	}
	p.SecureWith(&tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*certificate},
		NextProtos: []string{"http/1.1"}, // no HTTP/2: a WebSocket needs a connection of its own
	}, func() *tls.Certificate { return certificate })
}

// SecureWith is Secure with a configuration that chooses the certificate. Current returns the
// certificate that Certificate reports, nil if there is none yet.
func (p *Port) SecureWith(config *tls.Config, current func() *tls.Certificate) {
	p.first.secrets.Store(&secrets{config, current})
}

// Certificate returns the current certificate, nil without TLS or before there is one.
func (p *Port) Certificate() *tls.Certificate {
	if s := p.first.secrets.Load(); s != nil {
		return s.current()
	}
	return nil
}

// Secured reports whether new connections of HTTP and WebSocket use TLS.
func (p *Port) Secured() bool { return p.first.secrets.Load() != nil }
