// Package registry is what the profiles of one store have in common: sessions and
// identities are the store's, and each profile holds copies of those that play
// there. The registry keeps the copies equal.
//
// Its nouns, and the files that bear their names:
//
//   - a Member is one profile of the store (registry.go), in this process; one member
//     stands for all other machines;
//   - a read of the store waits until no member has something newer (read.go);
//   - what is heard of other machines is kept for a minute, for who reads the store
//     before that has it (heard.go);
//   - a reservation of a key lets one profile at a time make its identity
//     (reserve.go);
//   - numbers of rows that one member has got no other one gets (numbers.go).
//
// It holds no copy itself. A profile has in memory whatever it decided and the
// store does not have yet, so a read asks the members first, and waits until the
// store has what they know of the token or key. What a profile decides about a
// session that others may have in memory it tells them (profile.News) when it is
// durable, and before its player reads the answer. A Courier takes it to other
// processes; for what is pressing the answer waits until they find it there.
//
// Nobody waits for other machines: they bring a change to the store, and tell it, in any
// order. So a change bears the message of the journal that it is in, and a read says how
// far the store had come with each journal: who has read knows which changes to count.
// Changes of a release that did not say so always count.
//
// A crash leaves nothing of it: a profile that starts from the store brings its journal
// there first, and waits a moment for the others to do so; one that starts from what it
// has written of its memory looks into their journals. A handoff
// carries nothing of it either, because it freezes profiles that have heard all
// news.
//
// Invariants:
//
//   - What a read delivers is not older than any news that came before it in the
//     mail of the profile, and has no news in it that will follow.
//   - No lock is held while a store or a loop is waited for.
package registry
