// Package intent is the closed list of durable effects: what a request changes
// for good is a handful of intents, each a plain value that carries its numbers
// and its time.
//
// Everything that is decided by the kind of an intent is decided here. A kind is
//
//   - its number and its Row in the one table (table.go);
//   - a type with its fields as bytes (code) and their limits (check), in the file
//     of its noun;
//   - a writer in each store (apply.go of store/postgres and store/sqlite);
//   - a case of store/storetest and the golden bytes in journal/testdata.
//
// The compiler or a test names what a new kind lacks.
package intent
