package main

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// roots are the certificate authorities that an image trusts, as PEM: without them the
// server could order no certificate of its own, nor ask anything else over TLS. They are
// Mozilla's, of the version in go.mod, so that the bytes of an image do not depend on the
// machine that made it. Those that are trusted only with constraints are left out: a file
// cannot say them.
func roots() []byte {
	var b bytes.Buffer
	for r := range bundle.Roots() {
		if r.Constraint == nil {
			pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate}) // a buffer takes everything
		}
	}
	return b.Bytes()
}
