// Package pgtest gives tests a real PostgreSQL.
//
// A Cluster is a private server in a temporary folder, made from the installed
// binaries and run as another user where the tests run as root. The tests of a
// process share one, started when the first asks for a database and ended by
// Main; tests that break servers start their own. Every test gets a database
// of its own, empty or migrated. A guard process ends the server and removes
// the folder also when the test process is killed. Proxy stands between a store
// and its server and cuts connections at chosen moments.
//
// WAMBLE_TEST_DSN names a running server to use instead of the shared one; its
// user must be allowed to create databases.
package pgtest
