package config

// retired has the names of the original server, and of older versions, that have no effect, with the
// reason for the warning. They are accepted, so that old files load.
var retired = map[string]string{
	"cluster-key-file":         "machines know each other by keys that they make themselves; remove the file",
	"max-message-size":         "packets have the size that the protocol gives them",
	"max-token-local-attempts": "tokens come from the system's random source; max-token-attempts alone bounds the draws",
	"cleanup-interval-sec":     "idle network sessions are forgotten when their time is over, not in rounds",
	"global-db-host":           "there is no global database; every profile keeps its own",
	"global-db-port":           "there is no global database; every profile keeps its own",
	"global-db-user":           "there is no global database; every profile keeps its own",
	"global-db-pass":           "there is no global database; every profile keeps its own",
	"global-db-name":           "there is no global database; every profile keeps its own",
	"experiment-enabled":       "there are no treatment groups",
	"experiment-seed":          "there are no treatment groups",
	"db-log-frequency":         "it had no effect in the original either",
	"policy-eval":              "nothing called it in the original either; use policy-allow and policy-deny",
}

// Retired returns why an option of the original server or of an older version has no effect; "" if
// name is no such option.
func Retired(name string) string { return retired[name] }

// retiredForms has the forms of the original server that have no effect. Their arguments are
// not evaluated.
var retiredForms = []string{
	"treatment-group", "treatment-default", "treatment-assign", "treatment-edge", "treatment-tag",
	"treatment-feature", "treatment-context", "treatment-behavior", "treatment-meta", "treatment-payload",
	"treatment-visible-fen", "treatment-predictions-from-moves", "treatment-last-move", "treatment-last-move-data",
}
