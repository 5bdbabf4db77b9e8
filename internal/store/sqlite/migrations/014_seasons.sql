-- A writer that adds up what its payouts bring to a season says so, and adds each
-- session once for all its rows; without it every row is added by the trigger.
ALTER TABLE payouts ADD COLUMN counted INTEGER NOT NULL DEFAULT 0 CHECK (counted IN (0, 1));
DROP TRIGGER trigger_payouts_season;
CREATE TRIGGER trigger_payouts_season AFTER INSERT ON payouts FOR EACH ROW WHEN NEW.counted = 0
BEGIN
    INSERT INTO season_scores (who, season, score, games)
        SELECT ifnull(s.player_id, -s.id), CAST(strftime('%Y%m', NEW.created_at / 1000000, 'unixepoch') AS INTEGER), NEW.points_awarded, 1
        FROM sessions s WHERE s.id = NEW.session_id
        ON CONFLICT (who, season) DO UPDATE SET score = round(season_scores.score + excluded.score, 4), games = season_scores.games + 1;
END;
