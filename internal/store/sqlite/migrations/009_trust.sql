-- Whoever changes trust_level, by hand or through the server, leaves a number that
-- grows: servers that run ask for the changes since they last looked.
ALTER TABLE sessions ADD COLUMN trust_change INTEGER;
CREATE INDEX idx_sessions_trust_change ON sessions (trust_change) WHERE trust_change IS NOT NULL;

CREATE TRIGGER trigger_sessions_trust_change AFTER UPDATE OF trust_level ON sessions
	FOR EACH ROW WHEN OLD.trust_level IS NOT NEW.trust_level
BEGIN
	UPDATE sessions SET trust_change = (SELECT ifnull(max(trust_change), 0) + 1 FROM sessions WHERE trust_change IS NOT NULL) WHERE id = NEW.id;
END;
