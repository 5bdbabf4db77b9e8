// Package store is the interface to the database: the operations (Store), what they write
// (Batch), and the errors that callers branch on. Its two implementations are store/postgres
// and store/sqlite; both pass the suite store/storetest and share store/schema.
package store
