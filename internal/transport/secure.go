package transport

import (
	"crypto/tls"
	"net"
	"sync/atomic"
)

// secureListener speaks TLS on every connection that comes while there is a
// certificate. The certificate may change at any time; connections that are open
// keep theirs.
type secureListener struct {
	net.Listener
	secrets *atomic.Pointer[secrets]
}

// secrets are how TLS is spoken, and with which certificate at present, which may be nil.
type secrets struct {
	config  *tls.Config
	current func() *tls.Certificate
}

// Accept never waits for a TLS handshake: the first read does it, under the limits
// of the HTTP server.
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

// Secure makes HTTP and WebSocket speak TLS with a certificate on connections
// that come from now on; nil turns it off.
func (p *Port) Secure(certificate *tls.Certificate) {
	if certificate == nil {
		p.first.secrets.Store(nil)
		return
	}
	p.SecureWith(&tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*certificate},
		NextProtos: []string{"http/1.1"}, // a WebSocket needs a connection of its own
	}, func() *tls.Certificate { return certificate })
}

// SecureWith is Secure for somebody who chooses certificates. Current returns the one
// to tell of, nil if there is none yet.
func (p *Port) SecureWith(config *tls.Config, current func() *tls.Certificate) {
	p.first.secrets.Store(&secrets{config, current})
}

// Certificate returns the certificate, nil without TLS or before there is one.
func (p *Port) Certificate() *tls.Certificate {
	if s := p.first.secrets.Load(); s != nil {
		return s.current()
	}
	return nil
}

// Secured reports whether HTTP and WebSocket speak TLS.
func (p *Port) Secured() bool { return p.first.secrets.Load() != nil }
