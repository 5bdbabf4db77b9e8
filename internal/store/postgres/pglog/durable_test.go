package pglog_test

import (
	"testing"

	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/watchtest"
)

// TestSynchronousCommit: claims, records, checkpoints and releases are durable, whatever the
// database's default is; a heartbeat waits for no standby.
func TestSynchronousCommit(t *testing.T) {
	t.Parallel()
	for _, byItself := range []string{"off", "on"} {
		t.Run("a database with "+byItself, func(t *testing.T) {
			t.Parallel()
			db := pgtest.Empty(t)
			pgtest.Execute(t, db, `ALTER DATABASE "`+db.Name+`" SET synchronous_commit = `+byItself)
			l := node(t, db, "a")
			h := claim(t, l)
			pgtest.Execute(t, db, `CREATE TABLE seen (what text, v text);
				CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
					INSERT INTO seen VALUES (TG_ARGV[0], current_setting('synchronous_commit')); RETURN NULL; END $$;
				CREATE TRIGGER note AFTER INSERT OR UPDATE ON shards FOR EACH ROW EXECUTE FUNCTION note('shard');
				CREATE TRIGGER note AFTER INSERT ON shard_log FOR EACH ROW EXECUTE FUNCTION note('record');
				CREATE TRIGGER note AFTER INSERT OR UPDATE ON nodes FOR EACH ROW EXECUTE FUNCTION note('beat')`)
			ok(t, h.Release(t.Context(), ""))
			h = claim(t, l)
			add(t, h, "1")
			ok(t, h.Checkpoint(t.Context(), 1, nothing))
			const seen = `SELECT COALESCE(string_agg(DISTINCT what || ' ' || v, ', ' ORDER BY what || ' ' || v), '') FROM seen`
			watchtest.Until(t, "it beats",
				func() bool { return pgtest.Query[bool](t, db, `SELECT count(*) > 1 FROM seen WHERE what = 'beat'`) })
			is(t, pgtest.Query[string](t, db, seen), "beat off, record on, shard on")
		})
	}
}
