package runner

// NewTestStorage returns a storage for tests of this package, which cannot
// import those that are storages: they import it.
var NewTestStorage func() Storage

// LogKinds is the number of kinds of log events.
const LogKinds = LogKind(len(logKinds))

// MaxRange is the most rows of one Range.
const MaxRange = maxRange
