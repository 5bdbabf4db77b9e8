// Package mesh connects the nodes of one installation: it passes packets of players
// on to the node that serves them, and their answers back; it carries what watchers
// are to see, and questions to other nodes. It does not know who serves whom: its
// owner says which nodes there are, and to which a frame goes.
//
// Its nouns, and the files that bear their names:
//
//   - a Frame is what is said (frame.go), of one of the kinds of a table (kind.go);
//   - a handshake proves to both ends that the other has the key of the installation
//     (handshake.go); a record is the frames of one write, sealed (record.go);
//   - a conn is a proven connection, with its reader and its writer (conn.go), what
//     waits for the writer in an outbox (outbox.go), and requests whose answers are
//     still to come (request.go);
//   - a Mesh has one connection to each of the other nodes (mesh.go): it dials (dial.go)
//     and listens (listen.go), and knows who wants which events (event.go).
//
// # Bytes
//
//	hello    "WMSH" version 1 | 3 zeros | from 64 | to 64 | instance 8 | public 32 | MAC 32
//	answer   the same, from and to exchanged, its MAC over the hello as well
//	record   length 4 of what follows | sealed: frame … | tag 16
//	frame    kind 1 | length 3 of what follows | fields, as the table of kinds says
//
// A name of 64 bytes is its length and at most 63 bytes, the rest zeros. Numbers are
// big-endian. The keys of both directions are of the installation's key, of a fresh
// X25519 exchange and of both hellos, by HKDF; a record is sealed with
// ChaCha20-Poly1305, with its length as additional data and the count of records as
// nonce. The first record of whoever dialled is empty: only then the connection is
// proven to whoever listens. An empty record later is a sign of life.
//
// Invariants: nobody waits for a node that does not read, and what waits for it is
// bounded; a connection that is not proven costs a goroutine and hello bytes, for a
// second at most and for few connections at a time; between two nodes there is one
// connection; nothing that was said on one connection counts on another.
package mesh
