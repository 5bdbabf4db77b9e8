// Package server is the process that a host runs: all profiles of a
// configuration with what they share.
//
//   - DataDir is where everything is kept that must survive a restart.
//   - Stores are the databases of the profiles: those with equal settings share
//     one.
package server
