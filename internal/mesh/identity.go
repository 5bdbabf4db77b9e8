package mesh

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
)

// ErrIdentity is returned when the other end of a connection does not have the listed key.
var ErrIdentity = errors.New("its key is not that of a node of this installation, or not of the one that was meant")

// newIdentity makes a key pair, as a certificate that it has signed itself. Public is the public key as
// Node.Key has it.
func newIdentity() (c tls.Certificate, public string, err error) {
	key, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return c, "", fmt.Errorf("make the key of this node: %w", err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key, private)
	if err != nil {
		return c, "", fmt.Errorf("make the certificate of this node: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, textOf(key), nil
}

func textOf(key ed25519.PublicKey) string { return base64.StdEncoding.EncodeToString(key) }

// keyOf returns the public key of the other end of a connection; "" if it has none of the kind that nodes
// have.
func keyOf(cs *tls.ConnectionState) string {
	if cs == nil || len(cs.PeerCertificates) == 0 {
		return ""
	}
	key, ok := cs.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	if !ok {
		return ""
	}
	return textOf(key)
}

// tlsConfig returns the parameters of one end of a connection. Accept reports whether the other end may
// have a public key. Names, dates and authorities of certificates have no role.
func (m *Mesh) tlsConfig(accept func(key string) bool) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{m.certificate},
		ClientAuth: tls.RequireAnyClientCert, SessionTicketsDisabled: true, DynamicRecordSizingDisabled: true,
		InsecureSkipVerify: true, // VerifyConnection compares the key instead
		VerifyConnection: func(cs tls.ConnectionState) error {
			if key := keyOf(&cs); key == "" || cs.NegotiatedProtocol != "h2" || !accept(key) {
				return ErrIdentity
			}
			return nil
		},
	}
}
