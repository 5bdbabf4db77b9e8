// Package pack is how snapshots and recordings are written down. A Writer
// appends, a Reader takes apart.
//
// Numbers are varints in their shortest form, so that the same state has one
// form only; texts and lists begin with their length. A Reader believes nothing:
// at the first fault, also one that its owner finds (Fail, Must), it is bad for
// good, has nothing left and gives zeros, so that its owner may look once at the
// end. It never allocates.
package pack
