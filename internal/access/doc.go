// Package access says what somebody may do in a profile: by the rules of a host,
// by his bans, and by the terms of service. It is a pure room: it is handed the
// time and who asks, and returns decisions.
//
// Its nouns, and the files that bear their names:
//
//   - a Law is all of it for one profile (law.go), a Place one of the profiles
//     that it knows of, with its Terms (place.go);
//   - capabilities are what a session is told that it may do (caps.go);
//   - Bans are who is kept out (ban.go);
//   - a Book is the rules of a configuration, sorted so that the first rule that
//     matches decides, and the tags of its identities (book.go);
//   - a Question is who wants to do what, and where; a Decision is the answer
//     (decision.go).
//
// Which rule is first, of those that match:
//
//  1. one for the asker (his number, his key or a tag of his) before one for everybody
//  2. one for the profile, then one for its group, then one for all profiles
//  3. one for the very resource before one for any
//  4. one with a context before one without
//  5. one that denies before one that allows
//  6. a later one before an earlier one
//
// A rule matches when its action is asked about, its profile or group is where
// it is asked, its resource is the one or any, it has no context or just the one
// of the question, and the time is within its bounds.
//
// When no rule matches, the scope decides: an open one allows, a closed one
// denies. A privilege (wamble.PolicyAction.Privilege) nobody has without a rule.
//
// Invariants:
//
//   - The same book, question and second give the same decision.
//   - An anonymous player is matched only by rules for everybody.
//   - A book without a rule for an action answers without looking.
package access
