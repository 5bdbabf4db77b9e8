// Package readapi serves the read-only HTTP API of a profile: boards, players, ranks,
// counts, events and the feed of finished games, as docs/http.md describes. It opens no
// socket; its Options have all that it uses.
//
// Its nouns, and the files that bear their names:
//
//   - an API is the routes of one profile, an http.Handler (api.go);
//   - a route is one row: its path, the rights it needs, its handler (routes.go);
//   - the documents describe the routes and /ws/json for programs (openapi.go, schema.go);
//   - an answer is a body with its lifetime, a problem is a refusal (answer.go);
//   - the cache keeps answers during their lifetime; concurrent requests for the same one
//     share a query (singleflight, cache.go);
//   - the limiter bounds the requests of each host (limit.go), a permit is a cached
//     decision of the policy (permit.go);
//   - the Stream has the latest events (stream.go), which observers read as
//     server-sent events (events.go, stream_read.go);
//   - the handlers are in board.go, player.go, leaderboard.go, live.go, feed.go, past.go,
//     trail.go.
//
// A request passes:
//
//	limiter (429) ──▶ token (400) ──▶ rights (403) ──▶ cache ──▶ store
//	                                                     │
//	                                                     └──▶ answer, or 304
//
// Invariants: every answer, list, cache and queue has a bound; the policy is asked before
// anything is read, except about a player, who has to be read first; a reader's own row is
// never given to another; no token is in an answer or a log.
package readapi
