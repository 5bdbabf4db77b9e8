-- Players choose names, which are unique without regard to case.
ALTER TABLE players ADD COLUMN renamed_at INTEGER;
CREATE UNIQUE INDEX idx_players_name ON players (handle COLLATE NOCASE);

-- A leaderboard has one row for each player, and one for each session without a
-- player, a guest. What all sessions of a player have is kept with him.
ALTER TABLE players ADD COLUMN total_score REAL NOT NULL DEFAULT 0;
ALTER TABLE players ADD COLUMN games_played INTEGER NOT NULL DEFAULT 0;
UPDATE players SET total_score = t.score, games_played = t.games
    FROM (SELECT player_id, round(sum(total_score), 4) AS score, sum(games_played) AS games FROM sessions WHERE player_id IS NOT NULL GROUP BY player_id) t
    WHERE t.player_id = players.id;
DROP INDEX idx_sessions_by_score;
DROP INDEX idx_sessions_by_rating;
CREATE INDEX idx_players_by_score ON players (total_score DESC, rating DESC, id);
CREATE INDEX idx_players_by_rating ON players (rating DESC, total_score DESC, id);
CREATE INDEX idx_guests_by_score ON sessions (total_score DESC, id) WHERE player_id IS NULL;

-- What was won in a month (season: 202611). Who is the number of a player, or that of a
-- guest's session below zero.
CREATE TABLE season_scores (
    who INTEGER NOT NULL,
    season INTEGER NOT NULL,
    score REAL NOT NULL,
    games INTEGER NOT NULL,
    PRIMARY KEY (who, season)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_season_scores ON season_scores (season, score DESC, who);
INSERT INTO season_scores (who, season, score, games)
    SELECT ifnull(s.player_id, -s.id) AS who, CAST(strftime('%Y%m', y.created_at / 1000000, 'unixepoch') AS INTEGER) AS month,
        round(sum(y.points_awarded), 4), count(*)
    FROM payouts y JOIN sessions s ON s.id = y.session_id GROUP BY who, month;

CREATE TRIGGER trigger_payouts_season AFTER INSERT ON payouts FOR EACH ROW
BEGIN
    INSERT INTO season_scores (who, season, score, games)
        SELECT ifnull(s.player_id, -s.id), CAST(strftime('%Y%m', NEW.created_at / 1000000, 'unixepoch') AS INTEGER), NEW.points_awarded, 1
        FROM sessions s WHERE s.id = NEW.session_id
        ON CONFLICT (who, season) DO UPDATE SET score = round(season_scores.score + excluded.score, 4), games = season_scores.games + 1;
END;

CREATE TRIGGER trigger_sessions_standing
    AFTER UPDATE OF player_id, total_score, games_played ON sessions FOR EACH ROW
    WHEN NEW.player_id IS NOT OLD.player_id OR NEW.player_id IS NOT NULL AND (NEW.total_score <> OLD.total_score OR NEW.games_played <> OLD.games_played)
BEGIN
    UPDATE players SET total_score = round(total_score - OLD.total_score, 4), games_played = games_played - OLD.games_played WHERE id = OLD.player_id;
    UPDATE players SET total_score = round(total_score + NEW.total_score, 4), games_played = games_played + NEW.games_played WHERE id = NEW.player_id;
    INSERT INTO season_scores (who, season, score, games)
        SELECT NEW.player_id, season, score, games FROM season_scores WHERE who = -NEW.id AND NEW.player_id IS NOT NULL
        ON CONFLICT (who, season) DO UPDATE SET score = round(season_scores.score + excluded.score, 4), games = season_scores.games + excluded.games;
    DELETE FROM season_scores WHERE who = -NEW.id AND NEW.player_id IS NOT NULL;
END;

CREATE TRIGGER trigger_players_season AFTER DELETE ON players FOR EACH ROW
BEGIN
    DELETE FROM season_scores WHERE who = OLD.id;
END;
