package runner

// NewTestStorage returns a storage for tests of this package, which cannot
// import those that are storages: they import it.
var NewTestStorage func() Storage

// LogKinds is how many kinds of log events there are.
const LogKinds = LogKind(len(logKinds))
