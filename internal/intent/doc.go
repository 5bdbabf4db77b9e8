// Package intent is the closed list of durable effects: what a request changes
// for good is a handful of intents, each a plain value that carries its numbers
// and its time.
//
// Everything that is decided by the kind of an intent is decided here. A kind
// is a type with its fields as bytes (code) and their limits (check), in the
// file of its noun, and one Row of the table (table.go). The stores add how they
// write it.
package intent
