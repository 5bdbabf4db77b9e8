// Package server runs profiles over one journal in a process, with all that they share.
//
// Its nouns, and the files that bear their names:
//
//   - a Server is a data directory, the journal in it, and sockets (server.go, datadir.go);
//     a StartStatus says why profiles were not started;
//   - running is its mutable state (running.go): a Profile that runs has a name, a store and
//     shards (profile.go), of which some take new players (openshards.go), and a Shard runs one
//     loop.Runtime (shard.go);
//   - a port has the sockets of a profile, which are matched by their addresses (ports.go);
//   - a plan is a reload that is checked and then applied (plan.go, reload.go); the journal
//     of a removed profile is drained;
//   - stores are the databases of the profiles: those with equal settings share one
//     (store.go);
//   - handoff.go connects the server with package handoff;
//   - a partition is one log of a journal in PostgreSQL, which nodes hold and move
//     (cluster.go, partitions.go); peers.go connects the server with package cluster, which
//     exchanges messages, packets and questions with the other nodes;
//   - http.go serves readers and health checks, feed.go finished games and events,
//     certificates.go orders certificates and redirects to https;
//   - admin.go connects the server with the commands of package admin and with the admin
//     listener of package observe; status.go and backup.go answer some of them;
//   - retention.go deletes old sessions, reshard.go changes a stopped server's shards, and
//     housebots.go runs bots.
//
// Invariants:
//
//   - Tokens are never logged.
//   - A port that stays in use is never unbound; a reload that is refused has
//     changed nothing.
package server
