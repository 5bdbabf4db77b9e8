-- A purged session that moved keeps its row and loses its token. The time of
-- the last link or unlink keeps a late copy from undoing a newer one.
ALTER TABLE sessions ALTER COLUMN token DROP NOT NULL;
ALTER TABLE sessions ADD COLUMN identity_at INTEGER;
ALTER TABLE sessions ADD COLUMN rating REAL NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN total_score REAL NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN total_prediction_score REAL NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN games_played INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN chess960_games_played INTEGER NOT NULL DEFAULT 0;

-- sessions.rating repeats players.rating (0 without a player), because a
-- leaderboard sorts sessions by both columns and one index must hold them.
CREATE TRIGGER trigger_players_rating
    AFTER UPDATE OF rating ON players FOR EACH ROW WHEN NEW.rating <> OLD.rating
BEGIN
    UPDATE sessions SET rating = NEW.rating WHERE player_id = NEW.id;
END;

CREATE INDEX idx_sessions_by_score ON sessions (total_score DESC, rating DESC, id);
CREATE INDEX idx_sessions_by_rating ON sessions (rating DESC, total_score DESC, id);
CREATE INDEX idx_sessions_player ON sessions (player_id, last_seen_at) WHERE player_id IS NOT NULL;
CREATE INDEX idx_sessions_last_seen ON sessions (last_seen_at);

ALTER TABLE players ADD COLUMN handle TEXT NOT NULL DEFAULT '' CHECK (length(handle) <= 63);
CREATE UNIQUE INDEX idx_players_handle ON players (handle);

-- What each finished board did to a rating, once.
CREATE TABLE rating_changes (
    board_id INTEGER NOT NULL REFERENCES boards(id),
    player_id INTEGER NOT NULL REFERENCES players(id) ON DELETE CASCADE,
    delta REAL NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (board_id, player_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_rating_changes_player ON rating_changes (player_id);
