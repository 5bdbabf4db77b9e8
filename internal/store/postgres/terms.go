package postgres

import (
	"time"

	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

// recordTerms sends each text once, however many sessions accept it. An acceptance is also
// stored without its text: the text is empty until an intent has it.
func recordTerms(_ string, run []intent.Intent) []statement {
	n := len(run)
	sessions, profiles, hashes, times := make([]int64, n), make([]string, n), make([][]byte, n), make([]time.Time, n)
	var revisions [][]byte
	var texts []string
	place := map[[32]byte]int{} // index in texts
	for i, in := range schema.As[*intent.RecordTermsAcceptance](run) {
		sessions[i], profiles[i], hashes[i], times[i] = int64(in.Session), in.Profile, in.Hash[:], in.At
		at, seen := place[in.Hash]
		if !seen {
			at = len(texts)
			place[in.Hash] = at
			revisions, texts = append(revisions, in.Hash[:]), append(texts, "")
		}
		if in.Text != "" {
			texts[at] = in.Text
		}
	}
	return []statement{
		{rows: -1, args: []any{revisions, texts}, sql: `
			INSERT INTO profile_terms AS t (tos_hash, tos_text) SELECT * FROM unnest($1::bytea[], $2::text[])
			ON CONFLICT (tos_hash) DO UPDATE SET tos_text = EXCLUDED.tos_text WHERE t.tos_text = '' AND EXCLUDED.tos_text <> ''`},
		mustExist(intent.KindRecordTermsAcceptance, "sessions", "session",
			schema.Distinct(n, func(i int) int64 { return sessions[i] })),
		{rows: -1, args: []any{sessions, profiles, hashes, times}, sql: `
			INSERT INTO profile_terms_acceptances (session_id, profile_name, tos_hash, accepted_at)
			SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::timestamptz[]) AS v(session, profile, hash, at)
			WHERE ` + here("v.session") + ` ON CONFLICT DO NOTHING`},
	}
}
