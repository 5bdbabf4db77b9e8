package config

import (
	"slices"
	"strings"

	"wamble"
	"wamble/internal/lisp"
)

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

// ofOlder has the names of retired that are of an older version of ours, not of the original.
const ofOlder = "cluster-key-file"

// withoutEffect are resources of protocol.ctrl for which the original had rules: packets that a server sends,
// about which it is never asked.
var withoutEffect = []string{
	"server_hello", "board_update", "ack", "profile_info", "error", "server_notification", "spectate_update",
	"login_success", "login_failed", "login_challenge", "player_stats_data", "profiles_list", "legal_moves",
	"leaderboard_data", "prediction_data", "profile_tos_data", "active_reservations_data", "unknown",
}

// belowRange has what is taken for a value of 0 or less that an option does not have here: in the original it
// meant off, no bound or the default.
var belowRange = map[string]float64{
	"buffer-size": 1024, "db-port": 0, "inactivity-timeout": 1, "max-moves-per-board": 100_000, "max-retries": 0,
	"min-boards": 0, "persistence-max-intents": 512, "persistence-max-payload-bytes": 65_536,
	"prediction-gated-percent": 0, "prediction-max-pending": 1, "prediction-max-per-parent": 0,
	"prediction-streak-cap": 1, "prediction-view-depth-limit": 0, "rate-limit-requests-per-sec": 0,
	"reservation-timeout": 1, "select-timeout-usec": 100, "session-timeout": 300, "spectator-focus-hz": 0,
	"spectator-max-focus-per-session": 0, "spectator-summary-hz": 0, "terminal-cache-ttl-ms": 0, "timeout-ms": 1,
	"websocket-port": 0,
}

// checkOriginal refuses a file of the original that does not say what means something else here than there.
// It is one if it has a name or a form that only the original's files have.
func (l *loader) checkOriginal() {
	if l.original == "" {
		return
	}
	of := "this file has `" + l.original + "`, as files of the original: "
	for _, p := range l.config.Running() {
		if i := slices.IndexFunc(l.rules, func(r wamble.PolicyRule) bool { return r.Allow }); i >= 0 && !l.set(p, "policy-default") {
			l.Fail(l.ruleAt[i].Errorf("%sthere who has no rule may do nothing, here everything", of).
				WithHint(`(def policy-default "deny") keeps it, (def policy-default "allow") lets everybody play`))
		}
		if !p.Postgres() {
			l.Fail(l.source.At(0).Errorf("%sthere a profile without `db-host` and its kin keeps its games in PostgreSQL wamble at localhost, here in a new SQLite file", of).
				WithHint("name a new database with `db-name`, or remove what has no effect here ('wamble check --original FILE' prints that file); 'wamble import' brings the games"))
			return
		}
	}
}

// FromOriginal returns the text of a configuration file of the original as our files are: what has no effect at
// top level becomes a comment, and what means something else here is said.
func FromOriginal(file, text string) string {
	l := &loader{source: lisp.NewSource(file, text), config: &Config{File: file}}
	l.Interp = lisp.New(lisp.DefaultLimits, func(string) string { return "" }, l.forms())
	forms := l.Read(l.source)
	var b strings.Builder
	b.WriteString("; made of a file of the original Wamble by 'wamble check --original'\n")
	allows, decided, from := false, false, 0
	for i, form := range forms {
		if form.Kind != lisp.List || len(form.Items) < 2 {
			continue
		}
		head, name := form.Items[0].Text, form.Items[1].Text
		allows = allows || head == "policy-allow"
		decided = decided || head == "def" && name == "policy-default"
		if !slices.Contains(retiredForms, head) && (head != "def" || retired[name] == "") {
			continue
		}
		end := len(text)
		if i+1 < len(forms) {
			end = forms[i+1].Pos.Offset()
		}
		at := form.Pos.Offset()
		b.WriteString(text[from:at] + "; no effect here: " + strings.ReplaceAll(strings.TrimRight(text[at:end], " \n\t"), "\n", "\n; ") + "\n")
		from = end
	}
	b.WriteString(text[from:])
	if allows && !decided {
		b.WriteString("\n; In the original who has no rule may do nothing.\n(def policy-default \"deny\")\n")
	}
	b.WriteString("\n; Its games come with 'wamble import --from \"dbname=…\"' to the database of this file, which must be another one:\n" +
		"; that of db-name, or a new SQLite file if no option db-… is set.\n")
	return b.String()
}
