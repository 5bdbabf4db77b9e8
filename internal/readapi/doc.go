// Package readapi is what a profile tells over HTTP: boards, players, ranks,
// counts and the feed of finished games, as docs/http.md describes. It only
// reads. Everything it needs is handed to it; it owns no socket.
//
// Its nouns, and the files that bear their names:
//
//   - an API is the routes of one profile, an http.Handler (api.go);
//   - a route is one row: its path, the rights it needs, who answers (routes.go);
//   - the documents describe routes and /ws/json to programs (openapi.go, schema.go);
//   - an answer is a body and how long it is good, a problem is a refusal
//     (answer.go);
//   - the cache keeps answers while they are good; of many who want the same one,
//     one asks the store (singleflight, cache.go);
//   - the limiter bounds the requests of each host (limit.go), a permit is what
//     somebody may do (permit.go);
//   - the Stream is what happened last (stream.go), which observers read as
//     server-sent events (events.go);
//   - the handlers stand in board.go, player.go, leaderboard.go, live.go, feed.go,
//     past.go.
//
// The way of a request:
//
//	limiter (429) ──▶ token (400) ──▶ rights (403) ──▶ cache ──▶ store
//	                                                     │
//	                                                     └──▶ answer, or 304
//
// Invariants: every answer, list, cache and queue has a bound; what the policy
// denies is decided before anything is read; one reader's own row is never given
// to another; no token is in an answer or a log.
package readapi
