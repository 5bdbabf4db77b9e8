// Package access decides what a player may do in a profile: by the rules of its host, by bans, and by the
// terms of service. It is pure: it is given the time and the identity of the player, and returns decisions.
//
// Its nouns, and the files that bear their names:
//
//   - a Policy is everything for one profile (policy.go), a Place one of the profiles
//     that it knows of, with its Terms (place.go);
//   - capabilities are the rights of a session that its client is sent (caps.go);
//   - Bans are the sessions, identities and networks that are refused (ban.go);
//   - a RuleSet is the rules of a configuration, sorted so that the first matching rule
//     decides, and the tags of its identities (ruleset.go);
//   - a Question names a player, a right and a place; a Decision is the answer
//     (decision.go).
//
// The order of matching rules:
//
//  1. one for the identity (its number, key or one of its tags) before one for all
//  2. one for the profile, then one for its group, then one for all profiles
//  3. one for the resource itself before one for any
//  4. one with a context before one without
//  5. one that denies before one that allows
//  6. a later one before an earlier one
//
// A rule matches if its action is the question's, its profile or group is that of the place, its resource
// is the question's or any, it has no context or exactly the question's, and the time is within its bounds.
//
// If no rule matches, the Scope (decision.go) decides: an open one allows, a closed one denies. A privilege
// (wamble.PolicyAction.Privilege) is always denied without a rule.
//
// Invariants:
//
//   - The same rule set, question and second give the same decision.
//   - An anonymous player is matched only by rules for all players.
//   - A rule set without a rule for an action decides without a search.
package access
