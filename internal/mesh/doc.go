// Package mesh connects the nodes of a cluster. It carries packets of players to the node
// that serves them, and the answers back; events for watchers; and requests to other nodes.
// Its caller says which nodes exist, and to which node a frame is sent.
//
// Its nouns, and the files that bear their names:
//
//   - a Frame is one message (frame.go), of a kind in a table (kind.go);
//   - a handshake proves to both ends that the other has the cluster's key
//     (handshake.go); a record has encrypted frames (record.go);
//   - a conn is an authenticated connection, with its reader and its writer (conn.go), the
//     outbox of the writer (outbox.go), and pending requests (request.go);
//   - a Mesh has one connection to each of the other nodes (mesh.go): it dials (dial.go)
//     and listens (listen.go), and tracks which events nodes subscribe to (event.go).
//
// # Bytes
//
//	hello    "WMSH" version 1 | 3 zeros | from 64 | to 64 | instance 8 | public 32 | MAC 32
//	answer   the same, from and to exchanged, its MAC over the hello as well
//	record   length 4 of what follows | sealed: frame … | tag 16
//	frame    kind 1 | length 3 of what follows | fields, as the table of kinds says
//
// A name of 64 bytes is its length and at most 63 bytes, the rest zeros. Numbers are
// big-endian. The keys of both directions are derived with HKDF from the cluster's key, an
// X25519 exchange with fresh keys, and both hellos. A record is sealed with
// ChaCha20-Poly1305, with its length as additional data and the count of records as nonce.
// The first record of the dialling end is empty; it authenticates the connection to the
// listening end. Later empty records are keep-alives.
//
// Invariants: senders never wait for a node that does not read, and its outbox is bounded;
// an unauthenticated connection costs a goroutine and the bytes of a hello, for 2 seconds at
// most and for at most 64 connections at a time; a node that the caller does not list is
// refused; there is one connection between two nodes, and while it lasts no other process is
// accepted under their names; bytes of one connection are not valid on another.
package mesh
