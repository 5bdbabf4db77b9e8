// Package mesh connects the nodes of a cluster. It carries packets of players to the node that serves
// them, and the answers back; events for watchers; and questions to other nodes. Its caller says which
// nodes exist, with their addresses and public keys, and to which node something is sent.
//
// Connections are TLS 1.3 and HTTP/2 of the standard library. Each process makes a key pair (identity.go).
// Both ends compare the other's public key with the one that the caller has listed. Every node dials every
// other one (link.go), so that there are two connections between two nodes: on each, the dialling end
// makes these requests, and the other end answers them (serve.go).
//
//	POST /packets             packets from clients of the dialling node →, replies to them ←: frames
//	                          (frame.go), for as long as the connection lasts
//	GET  /events?name=NAME    ← events of a name: each its length in 4 bytes, and data
//	POST /ask?what=WHAT       a question →, its answer ←
//
// Packets and events that wait for a node are in an outbox (outbox.go) or in the queue of its subscription
// (event.go). Invariants: senders never wait for a node that does not read, and what waits for it is
// bounded; datagrams do not take the room of WebSocket connections; a connection without a proof of
// identity costs one of 64 places, for 2 seconds at most, and a host that holds most of the places gives
// up its own for those of others.
package mesh
