-- Whoever changes trust_level, by hand or through the server, leaves the number of his
-- transaction: servers that run ask for the changes since they last looked.
ALTER TABLE sessions ADD COLUMN trust_change BIGINT;
CREATE INDEX idx_sessions_trust_change ON sessions (trust_change) WHERE trust_change IS NOT NULL;

CREATE FUNCTION note_trust_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.trust_change := txid_current();
	RETURN NEW;
END $$;

CREATE TRIGGER trigger_sessions_trust_change BEFORE UPDATE OF trust_level ON sessions
	FOR EACH ROW WHEN (OLD.trust_level IS DISTINCT FROM NEW.trust_level) EXECUTE FUNCTION note_trust_change();
