-- Players choose names, which are unique without regard to case.
ALTER TABLE players ADD COLUMN renamed_at TIMESTAMPTZ;
CREATE UNIQUE INDEX idx_players_name ON players (lower(handle));

-- A leaderboard has one row for each player, and one for each session without a
-- player, a guest. What all sessions of a player have is kept with him.
ALTER TABLE players ADD COLUMN total_score DECIMAL(14,4) NOT NULL DEFAULT 0, ADD COLUMN games_played INTEGER NOT NULL DEFAULT 0;
UPDATE players p SET total_score = t.score, games_played = t.games
    FROM (SELECT player_id, sum(total_score) AS score, sum(games_played) AS games FROM sessions WHERE player_id IS NOT NULL GROUP BY player_id) t
    WHERE t.player_id = p.id;
DROP INDEX idx_sessions_by_score;
DROP INDEX idx_sessions_by_rating;
CREATE INDEX idx_players_by_score ON players (total_score DESC, rating DESC, id);
CREATE INDEX idx_players_by_rating ON players (rating DESC, total_score DESC, id);
CREATE INDEX idx_guests_by_score ON sessions (total_score DESC, id) WHERE player_id IS NULL;

-- What was won in a month (season: 202611). Who is the number of a player, or that of a
-- guest's session below zero.
CREATE TABLE season_scores (
    who BIGINT NOT NULL,
    season INTEGER NOT NULL,
    score DECIMAL(14,4) NOT NULL,
    games INTEGER NOT NULL,
    PRIMARY KEY (who, season)
);
CREATE INDEX idx_season_scores ON season_scores (season, score DESC, who);
INSERT INTO season_scores (who, season, score, games)
    SELECT coalesce(s.player_id, -s.id), to_char(y.created_at AT TIME ZONE 'UTC', 'YYYYMM')::integer, sum(y.points_awarded), count(*)
    FROM payouts y JOIN sessions s ON s.id = y.session_id GROUP BY 1, 2;

CREATE FUNCTION count_season() RETURNS TRIGGER AS $$
BEGIN
    INSERT INTO season_scores (who, season, score, games)
        SELECT coalesce(s.player_id, -s.id), to_char(NEW.created_at AT TIME ZONE 'UTC', 'YYYYMM')::integer, NEW.points_awarded, 1
        FROM sessions s WHERE s.id = NEW.session_id
        ON CONFLICT (who, season) DO UPDATE SET score = season_scores.score + excluded.score, games = season_scores.games + 1;
    RETURN NULL;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER trigger_payouts_season AFTER INSERT ON payouts FOR EACH ROW EXECUTE FUNCTION count_season();

CREATE FUNCTION keep_standing() RETURNS TRIGGER AS $$
BEGIN
    IF NEW.player_id IS NOT DISTINCT FROM OLD.player_id THEN
        UPDATE players SET total_score = total_score + NEW.total_score - OLD.total_score, games_played = games_played + NEW.games_played - OLD.games_played
            WHERE id = NEW.player_id;
        RETURN NULL;
    END IF;
    IF OLD.total_score <> 0 OR OLD.games_played <> 0 THEN
        UPDATE players SET total_score = total_score - OLD.total_score, games_played = games_played - OLD.games_played WHERE id = OLD.player_id;
    END IF;
    IF NEW.player_id IS NOT NULL AND (NEW.total_score <> 0 OR NEW.games_played <> 0) THEN
        UPDATE players SET total_score = total_score + NEW.total_score, games_played = games_played + NEW.games_played WHERE id = NEW.player_id;
        INSERT INTO season_scores (who, season, score, games)
            SELECT NEW.player_id, season, score, games FROM season_scores WHERE who = -NEW.id
            ON CONFLICT (who, season) DO UPDATE SET score = season_scores.score + excluded.score, games = season_scores.games + excluded.games;
        DELETE FROM season_scores WHERE who = -NEW.id;
    END IF;
    RETURN NULL;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER trigger_sessions_standing
    AFTER UPDATE OF player_id, total_score, games_played ON sessions FOR EACH ROW
    WHEN (NEW.player_id IS DISTINCT FROM OLD.player_id OR NEW.player_id IS NOT NULL AND (NEW.total_score <> OLD.total_score OR NEW.games_played <> OLD.games_played))
    EXECUTE FUNCTION keep_standing();

CREATE FUNCTION drop_season() RETURNS TRIGGER AS $$
BEGIN
    DELETE FROM season_scores WHERE who = OLD.id;
    RETURN NULL;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER trigger_players_season AFTER DELETE ON players FOR EACH ROW EXECUTE FUNCTION drop_season();
