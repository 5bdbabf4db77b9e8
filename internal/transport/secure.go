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
	config *atomic.Pointer[tls.Config]
}

// Accept never waits for a TLS handshake: the first read does it, under the limits
// of the HTTP server.
func (l secureListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if config := l.config.Load(); config != nil {
		return tls.Server(c, config), nil
	}
	return c, nil
}

// Secure makes HTTP and WebSocket speak TLS with a certificate on connections
// that come from now on; nil turns it off.
func (p *Port) Secure(certificate *tls.Certificate) {
	if certificate == nil {
		p.secrets.Store(nil)
		return
	}
	p.secrets.Store(&tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*certificate},
		NextProtos: []string{"http/1.1"}, // a WebSocket needs a connection of its own
	})
}

// Certificate returns the certificate, nil without TLS.
func (p *Port) Certificate() *tls.Certificate {
	if config := p.secrets.Load(); config != nil {
		return &config.Certificates[0]
	}
	return nil
}

// Secured reports whether HTTP and WebSocket speak TLS.
func (p *Port) Secured() bool { return p.secrets.Load() != nil }
