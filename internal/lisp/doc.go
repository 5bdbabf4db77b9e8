// Package lisp is the language of configuration files. It has numbers, strings, names,
// functions and macros, and knows no option.
//
//   - Value is what the reader reads and the evaluator computes: nil, a list,
//     a symbol, an integer, a float, a string or a function. Every Value
//     has the Pos where it was written.
//   - Env maps names to Bindings and has a parent: scope is lexical.
//   - Interp evaluates forms and collects its findings as Errors. Packages that
//     use the language add a Form of their own.
//   - Error is one finding with its place, and draws itself under the source
//     line.
//
// Invariants: evaluation ends. Steps, depth and memory are bounded by Limits,
// and the size and nesting of a source text by MaxSource and MaxNesting, so
// that no file can hang or crash the process that reads it. Nothing here
// reads the environment, files or the clock.
//
// The reader takes lists in parentheses, strings in double quotes with the
// escapes \n \t \r \\ \", whole numbers, decimal numbers, and everything else
// as a symbol; a semicolon begins a comment that ends with the line.
package lisp
