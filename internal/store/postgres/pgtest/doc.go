// Package pgtest gives tests a real PostgreSQL.
//
// A Cluster is a private server in a temporary directory, made from the installed binaries and
// run as another user if the tests run as root. The tests of a process share one, which is
// started for the first database and stopped by Main; tests that break servers start their own.
// Every test gets its own database, empty or migrated. A guard process stops the server and
// removes the directory even if the test process is killed. Proxy is placed between a store and
// its server and cuts connections at chosen moments.
//
// WAMBLE_TEST_DSN names a running server to use instead of the shared one; its user must be
// allowed to create databases.
package pgtest
