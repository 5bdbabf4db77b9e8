// Package cluster is what a node exchanges with the other nodes that share its journal in
// PostgreSQL. It runs no profile: a server passes in what it reports and answers, and carries
// out what others have said.
//
// Its nouns, and the files that bear their names:
//
//   - Peers has what the other nodes report of their shards with each heartbeat (peers.go),
//     and an outbox of messages to them, which are notes in the journal's database
//     (outbox.go);
//   - Notes are received from that database, and applied in order and once (notes.go);
//   - Decide says after each heartbeat which partitions of the journal this node claims and
//     releases (decide.go; its cases are in testdata/decide.txt), given a View, which a History of
//     earlier heartbeats completes (history.go). The partitions are assigned by rendezvous hashing, so
//     that all nodes compute the same, with a bound per node, so that few partitions are divided
//     evenly, too (placement.go), and only to nodes that have lived long enough;
//   - Owners are the nodes that hold the partitions (owners.go);
//   - a Router routes packets, questions and changed boards between the nodes (router.go), and
//     a RemotePort reads the port of a shard that another node has (remoteport.go).
package cluster
