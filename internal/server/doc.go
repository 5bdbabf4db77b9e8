// Package server runs profiles over one journal in a process, with all that they share.
//
// Its nouns, and the files that bear their names:
//
//   - a Server is a data directory, the journal in it, and sockets (server.go,
//     datadir.go, pidfile.go);
//   - its house has the running state (running.go): supervisors, each of which runs the
//     loop.Runtime of one shard (supervisor.go, shards.go), and departures of profiles
//     that were removed (removedprofile.go);
//   - a port has the sockets of a profile, which are matched by their addresses
//     (ports.go); a StartStatus says why profiles were not started (start.go);
//   - a plan is a reload that is checked and then applied (plan.go, reload.go);
//   - Stores are the databases of the profiles: those with equal settings share
//     one (store.go);
//   - handoff.go and inherit.go connect the server with package handoff;
//   - a part is a partition of a journal in PostgreSQL (cluster.go), which nodes hold and
//     move (partitions.go, partitionowners.go, nodedrain.go); abroad tracks the other nodes (peers.go,
//     outbox.go), and a router routes packets between them (router.go);
//   - api.go serves readers over HTTP, health.go health checks, and admin.go the admin
//     listener of package observe;
//   - host.go connects the server with the commands of package host; retention.go
//     deletes old sessions.
//
// Invariants:
//
//   - Tokens are never logged.
//   - A port that stays in use is never unbound; a reload that is refused has
//     changed nothing.
package server
