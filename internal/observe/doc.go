// Package observe is what a host and his monitors see of a server that runs.
//
// Its nouns, and the files that bear their names:
//
//   - metrics are one table, filled from the figures of each profile (metrics.go);
//   - health says whether the process lives, and whether it serves players
//     (health.go);
//   - the log has a level for each profile and keeps floods out (log.go); a Tail
//     keeps its last lines for the console (logtail.go);
//   - Vitals are the counters that the console draws (vitals.go);
//   - Admin is the listener for all of it, behind a token (admin.go).
//
// It shows and changes nothing: what a host can order is package host's.
package observe
