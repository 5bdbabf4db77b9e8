// Package store is the seam to the database: what a store must do (Store), what
// it is given (Batch), and the errors that its callers branch on. Its two
// implementations are store/postgres and store/sqlite; both pass the suite
// store/storetest and share store/schema.
package store
