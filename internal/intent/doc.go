// Package intent is the closed list of durable effects: what a request changes permanently is a few
// intents, each a plain value that carries its numbers and its time.
//
// Everything that depends on the kind of an intent is defined here. A kind consists of
//
//   - its number and its Row in the one table (table.go);
//   - a type with the encoding of its fields (code) and their limits (check), in the
//     file of its noun;
//   - a writer in each store (apply.go of store/postgres and store/sqlite);
//   - a case of store/storetest and the golden bytes in journal/testdata.
//
// The compiler or a test reports what a new kind lacks.
package intent
