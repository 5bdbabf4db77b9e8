-- A purged session that moved keeps its row and loses its token. The time of
-- the last link or unlink keeps a late copy from undoing a newer one.
ALTER TABLE sessions
    ALTER COLUMN token DROP NOT NULL,
    ADD COLUMN identity_at TIMESTAMPTZ,
    ADD COLUMN rating DECIMAL(10,4) NOT NULL DEFAULT 0,
    ADD COLUMN total_score DECIMAL(14,4) NOT NULL DEFAULT 0,
    ADD COLUMN total_prediction_score DECIMAL(14,4) NOT NULL DEFAULT 0,
    ADD COLUMN games_played INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN chess960_games_played INTEGER NOT NULL DEFAULT 0;
UPDATE sessions s SET games_played = g.games
    FROM (SELECT session_id, count(DISTINCT board_id) AS games FROM moves GROUP BY session_id) g WHERE g.session_id = s.id;
UPDATE sessions s SET total_score = p.points
    FROM (SELECT session_id, sum(points_awarded) AS points FROM payouts GROUP BY session_id) p WHERE p.session_id = s.id;
UPDATE sessions s SET rating = p.rating FROM players p WHERE p.id = s.player_id;

-- sessions.rating repeats players.rating (0 without a player), because a
-- leaderboard sorts sessions by both columns and one index must hold them.
CREATE FUNCTION copy_rating() RETURNS TRIGGER AS $$
BEGIN
    UPDATE sessions SET rating = NEW.rating WHERE player_id = NEW.id;
    RETURN NULL;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER trigger_players_rating
    AFTER UPDATE OF rating ON players
    FOR EACH ROW WHEN (NEW.rating <> OLD.rating) EXECUTE FUNCTION copy_rating();

CREATE INDEX idx_sessions_by_score ON sessions (total_score DESC, rating DESC, id);
CREATE INDEX idx_sessions_by_rating ON sessions (rating DESC, total_score DESC, id);
CREATE INDEX idx_sessions_player ON sessions (player_id, last_seen_at) WHERE player_id IS NOT NULL;
CREATE INDEX idx_sessions_last_seen ON sessions (last_seen_at);

ALTER TABLE players ADD COLUMN handle VARCHAR(63);
UPDATE players SET handle = 'h_' || lpad(to_hex(id), 12, '0');
ALTER TABLE players ALTER COLUMN handle SET NOT NULL;
CREATE UNIQUE INDEX idx_players_handle ON players (handle);

-- What each finished board did to a rating, once.
CREATE TABLE rating_changes (
    board_id BIGINT NOT NULL REFERENCES boards(id),
    player_id BIGINT NOT NULL REFERENCES players(id) ON DELETE CASCADE,
    delta DECIMAL(10,4) NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (board_id, player_id)
);
CREATE INDEX idx_rating_changes_player ON rating_changes (player_id);
