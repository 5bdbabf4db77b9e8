// Package pglog is a [logstore.Log] in a PostgreSQL database, so that a journal survives the
// loss of the machine that wrote it.
//
//   - A [Log] is one node: a process that may hold logs. Every half second it writes a
//     heartbeat to the database, which renews its lease (watch.go).
//   - A shard is a log with a name. Its row in shards has the epoch, which every claim
//     raises, and the number of the last record: an append is one statement that
//     changes the row only if both are as the holder knows them.
//   - The records are rows of shard_log, in pieces that fit a page. A shard has five
//     table partitions: three take records in turn, two checkpoints in turn. They are
//     truncated when a checkpoint covers their content, so that nothing is vacuumed.
//
// A log may have partitions (PartName), which are shards of their own: "main", "main/1", "main/2".
// One heartbeat of a node renews all that it holds of a log. Nodes that share a log see each other,
// and write notes for all (clusterview.go).
//
// A holder loses its claim to another node when its node wrote no heartbeat for a lease: by the
// database's clock, and also by the clock of the claiming node, which must have been connected
// for a lease without seeing a new heartbeat. So setting the database's clock cannot lead to two
// holders. A last heartbeat in the future of the database's clock, which was then set back, is
// judged by the claiming node's clock alone. A node measures its own lease from before it sent
// the heartbeat, by a clock that continues while the machine sleeps, so that its lease ends before
// another node can claim. Whatever the clocks do, the epoch prevents two holders.
//
// The tables belong to this package and have their own schema version; they may be in another
// database than the games.
package pglog
