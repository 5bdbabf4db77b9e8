package lisp

import (
	"errors"
	"slices"
)

// maxFindings is how many errors, and how many warnings, are recorded; at this number of errors
// reading and evaluation stop.
const maxFindings = 50

// Fail records err, unless it was recorded before.
func (in *Interp) Fail(err error) {
	var e *Error
	if errors.As(err, &e) {
		in.report(e)
		in.stopped = in.stopped || e.fatal
	}
}

// Warn records a warning.
func (in *Interp) Warn(e *Error) {
	e.Warning = true
	in.Warnings = appendOnce(in.Warnings, e)
}

// Quiet reports whether a warning at p would be dropped, so that its text need not be made.
func (in *Interp) Quiet(p Pos) bool {
	return len(in.Warnings) >= maxFindings || slices.ContainsFunc(in.Warnings, func(o *Error) bool { return o.at == p })
}

// Full reports whether maxFindings errors are recorded.
func (in *Interp) Full() bool { return len(in.Errors) >= maxFindings }

func (in *Interp) report(e *Error) { in.Errors = appendOnce(in.Errors, e) }

// appendOnce records a finding once, because a function may be called many times. The last
// entry of a full list says that there are more findings.
func appendOnce(list []*Error, e *Error) []*Error {
	same := func(o *Error) bool { return o.at == e.at && o.Msg == e.Msg }
	if len(list) >= maxFindings || slices.ContainsFunc(list, same) {
		return list
	}
	if len(list) == maxFindings-1 {
		e = &Error{File: e.File, Line: e.Line, Col: e.Col, Msg: "there are more findings; mend these first",
			Warning: e.Warning, fatal: e.fatal}
	}
	return append(list, e)
}
