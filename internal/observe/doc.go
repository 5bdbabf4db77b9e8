// Package observe exports the state of a running server to the host and their monitoring.
//
// Its nouns, and the files that bear their names:
//
//   - metrics are a table of Prometheus metrics, read from the figures of each profile
//     (metrics.go); Web has those of HTTP (web.go);
//   - Health answers /healthz and /readyz (health.go);
//   - the log has a level for each profile and suppresses floods (log.go); a Tail
//     keeps its last lines for the console (logtail.go);
//   - Vitals are the counters, and History the charts, of the console (vitals.go,
//     history.go);
//   - Traces go to an OpenTelemetry collector (traces.go);
//   - Admin is the listener for hosts, behind a token (admin.go).
//
// It changes nothing in the server; the commands of the host are in package admin.
package observe
