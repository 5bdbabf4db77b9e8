// Package intent is the closed list of durable effects: what a request changes
// for good is a handful of intents, each a plain value that carries its numbers
// and its time.
package intent
