// Package config turns a configuration file into plain values.
//
//   - Option is one setting: a tagged field of Server or Options in
//     options.go, the one place where it is described.
//   - Config is a file that was understood: the Server options of the process,
//     its Profiles, and the Rules of its policy, with every finding.
//   - Profile is one listener to be, with the effective value of every option
//     and the Origin of each: its own definition, that of its base, that of
//     the top level, or the default.
//   - Change is one difference between two Configs, with the Effect that
//     applying it has on a running server.
//
// Invariants: a Config that Load returns without an error satisfies every
// range and every check between profiles. The scope of names is the order of
// precedence: a profile is a scope inside its base's, which is inside that of
// the top level, which is inside that of the defaults. Nothing here reads
// files, the environment or the clock.
package config
