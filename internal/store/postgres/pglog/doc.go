// Package pglog is a [logstore.Log] in a PostgreSQL database: what makes a journal
// survive the loss of the machine that wrote it.
//
//   - A [Log] is one node: a process that may hold logs. It tells the database that it
//     lives every half second, and knows by that whether its lease holds.
//   - A shard is a log with a name. Its row in shards has the epoch, which every claim
//     raises, and the number of the last record: an append is one statement that
//     changes the row only if both are as the holder knows them.
//   - The records are rows of shard_log, in parts that fit a page. A shard has five
//     partitions: three take records in turn, two checkpoints in turn. They are
//     truncated when a checkpoint stands for what is in them, so that nothing is
//     vacuumed.
//
// A log may have parts, which are shards of their own: "main", "main/1", "main/2". One beat
// of a node is for all that it holds of a log. Nodes that share a log see each other, and
// write notes for all (world.go).
//
// A holder whose node has not been heard for a lease has ended: by the database's clock,
// and also by that of the node that claims, which has looked all the while and has seen
// no beat. So a database whose clock is set does not make two nodes speak. A last beat
// that is in the future of the database's clock is judged by the claiming node alone, which
// would wait for long otherwise: that clock was set back since. A node counts
// the time of its own lease from before it told the database, by a clock that goes on
// while the machine sleeps, so that its lease is over before another node can claim.
// Whatever clocks do, the epoch keeps two holders apart.
//
// The tables are this package's own, with a version of their own; they may be in
// another database than the games.
package pglog
