// Package registry connects the profiles of one store: sessions and identities belong to the store, and
// each profile has copies of those in use there. The registry tells whose copies are stale.
//
// Its nouns, and the files that bear their names:
//
//   - a Member is one profile of the store (registry.go), in this process; one member
//     stands for all other machines;
//   - a read of the store waits until no member knows anything newer (read.go);
//   - events of other machines are kept for a minute, for reads of a store that
//     does not have the change yet (remoteevents.go);
//   - a reservation of a key lets one profile at a time make its identity
//     (reserve.go);
//   - numbers of rows are registered, so that no two members get the same (numbers.go).
//
// The registry has no copies itself. A profile has in memory whatever it decided and the store does not
// have yet, so a read asks the members first, and waits until the store has what they know of the token or
// key. Decisions about a session that others may have in memory are published (profile.StoreEvents) when
// they are durable, and before the player gets the answer. A PeerMember takes them to other processes; the
// answer to an urgent one waits until the others can find it there.
//
// Other machines are not asked: they write a change to the store and publish it, in any order. So a change
// carries the message of the journal that it is in, and a read returns how far the store had come with each
// journal: it is made again until the store has all changes about its result.
//
// Nothing of the registry survives a crash: a profile that starts from the store drains its journal first,
// and waits a moment for the others to do so; one that starts from its restart file reads their journals. A
// handoff transfers only the changes from other machines (RemoteEvents, RestoreRemoteEvents): it freezes
// profiles that have taken all events.
//
// Invariants:
//
//   - What a read delivers is not older than any events before it in the mailbox of
//     the profile, and includes no events that will follow it.
//   - No lock is held during a wait for a store or a loop.
package registry
