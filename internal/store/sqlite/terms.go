package sqlite

import (
	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

// recordTerms also stores an acceptance without its text: the text is empty until an intent has
// it.
func (t *tx) recordTerms(run []intent.Intent) error {
	return forEach(run, func(in *intent.RecordTermsAcceptance) error {
		err := t.do(`INSERT INTO profile_terms (tos_hash, tos_text) VALUES (?, ?)
			ON CONFLICT (tos_hash) DO UPDATE SET tos_text = excluded.tos_text WHERE tos_text = '' AND excluded.tos_text <> ''`, in.Hash[:], in.Text)
		if err != nil {
			return err
		}
		return t.do(`INSERT INTO profile_terms_acceptances (session_id, profile_name, tos_hash, accepted_at) SELECT ?1, ?2, ?3, ?4 WHERE `+here("?1")+` ON CONFLICT DO NOTHING`,
			int64(in.Session), in.Profile, in.Hash[:], schema.Micros(in.At))
	})
}
