-- A session that a program has played is a bot's for ever, and so is every identity that
-- it has or gets. Bots are ranked among themselves.
ALTER TABLE sessions ADD COLUMN bot INTEGER NOT NULL DEFAULT 0;
ALTER TABLE players ADD COLUMN bot INTEGER NOT NULL DEFAULT 0;
CREATE INDEX idx_bots_by_score ON players (total_score DESC, rating DESC, id) WHERE bot;
CREATE INDEX idx_bots_by_rating ON players (rating DESC, total_score DESC, id) WHERE bot;
CREATE INDEX idx_guest_bots_by_score ON sessions (total_score DESC, id) WHERE player_id IS NULL AND bot;

CREATE TRIGGER trigger_sessions_bot AFTER UPDATE OF player_id, bot ON sessions FOR EACH ROW WHEN NEW.bot AND NEW.player_id IS NOT NULL
BEGIN
    UPDATE players SET bot = 1 WHERE id = NEW.player_id AND NOT bot;
END;

-- The past of a profile is read by the numbers of its boards, without those of others.
CREATE INDEX idx_boards_profile ON boards (profile, id);
