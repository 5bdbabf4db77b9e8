// Package server is the process that a host runs: profiles over one journal, and
// what they share.
//
// Its nouns, and the files that bear their names:
//
//   - a Server is a data directory, the journal in it, and sockets (server.go,
//     datadir.go, pidfile.go);
//   - its house is what runs at present (house.go): supervisors, each of which
//     supervises the loop.Runtime of one profile (supervisor.go), and
//     departures of profiles that were removed (departure.go);
//   - a port is lent to a profile; sockets are matched by their addresses (ports.go),
//     and why profiles were not started is a StartStatus (start.go);
//   - a reload is a plan that is applied (plan.go, reload.go);
//   - Stores are the databases of the profiles: those with equal settings share
//     one (store.go);
//   - a handoff is package handoff's; handoff.go lends it what only the server has,
//     and inherit.go takes over what another image left;
//   - what readers get over HTTP is in api.go, health in health.go;
//     the rest that a host sees is package observe's, behind the admin listener
//     (admin.go);
//   - what a host can tell a server is package host's; host.go lends it what it
//     needs, retention.go deletes old sessions.
//
// Invariants:
//
//   - Tokens are never logged.
//   - A port that stays in use is never unbound; a reload that is refused has
//     changed nothing.
package server
