// Package acmetest proves automatic HTTPS against Pebble, the ACME server that Let's
// Encrypt made for tests. It is a module of its own, so that what Pebble needs is in
// nobody's module graph. The binary of its tests is Pebble for those of packaging/build.
package acmetest
