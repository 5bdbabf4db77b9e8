// Package importer brings the rows of a database of the original Wamble to a store of ours.
//
// A Source is such a database, of any state of its schema, in one transaction that cannot write. The table
// facts says where a state keeps what, and what is taken where it does not. A unit is a session, a board or a
// prediction with everything that belongs to it, as intents.
//
// An import is a journal: its batches are the units in the order of the original's numbers, and the store
// counts them with the cursor of a journal that no server has. So a batch that was written is not written
// again, an import that was interrupted goes on, and one that is complete does nothing. The cursors of
// further journals say what the import is of, and at which numbers its rows begin. Rows are renumbered,
// because several databases of the original, which all begin at 1, may come to one store.
//
// It is not the adoption in place, which internal/store/postgres does to the original's first schema.
package importer
