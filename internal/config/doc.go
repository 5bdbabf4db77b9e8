// Package config turns a configuration file into plain values.
//
//   - Option is one setting: a tagged field of Server or Options in
//     options*.go, the one place where it is described.
//   - Config is a loaded file: the Server options of the process, its Profiles,
//     and the Rules of its policy, with warnings.
//   - Profile is one listener, with the effective value of every option and the
//     Origin of each: its own definition, that of its base, that of the top
//     level, or the default.
//   - Change is one difference between two Configs, with the Effect of applying
//     it to a running server.
//
// Invariants: a Config that Load returns without an error satisfies every
// range and every check between profiles. Precedence follows scope: the scope
// of a profile is inside its base's, which is inside the top level's, which is
// inside that of the defaults. The package does not read files, the environment
// or the clock.
package config
