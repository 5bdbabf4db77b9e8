// Command first is the first program of the runner's README: a typed job, its
// retries, a schedule and the dead letters. It is not installed.
package main
