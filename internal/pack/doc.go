// Package pack encodes what is in memory, for restart files and handoffs, and recordings. A Writer appends, a Reader decodes.
//
// Numbers are varints in their shortest form, so that a state has only one encoding; texts and lists begin
// with their length. A Reader trusts no input: after the first fault, also one that the caller reports
// (Fail, Must), it is bad, has nothing left and returns zeros, so that one check at the end is enough. It
// never allocates.
package pack
