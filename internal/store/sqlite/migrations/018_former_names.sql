-- The names that players had before, and until when.
CREATE TABLE former_names (
    player_id INTEGER NOT NULL REFERENCES players(id) ON DELETE CASCADE,
    until_at INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (player_id, until_at, name)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER trigger_players_former_name AFTER UPDATE OF handle ON players FOR EACH ROW WHEN NEW.handle <> OLD.handle
BEGIN
    INSERT INTO former_names (player_id, until_at, name) VALUES (NEW.id, ifnull(NEW.renamed_at, 0), OLD.handle) ON CONFLICT DO NOTHING;
END;
