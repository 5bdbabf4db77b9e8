-- A session that a program has played is a bot's for ever, and so is every identity that
-- it has or gets. Bots are ranked among themselves.
ALTER TABLE sessions ADD COLUMN bot BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE players ADD COLUMN bot BOOLEAN NOT NULL DEFAULT false;
CREATE INDEX idx_bots_by_score ON players (total_score DESC, rating DESC, id) WHERE bot;
CREATE INDEX idx_bots_by_rating ON players (rating DESC, total_score DESC, id) WHERE bot;
CREATE INDEX idx_guest_bots_by_score ON sessions (total_score DESC, id) WHERE player_id IS NULL AND bot;

CREATE FUNCTION mark_bot() RETURNS TRIGGER AS $$
BEGIN
    UPDATE players SET bot = true WHERE id = NEW.player_id AND NOT bot;
    RETURN NULL;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER trigger_sessions_bot
    AFTER UPDATE OF player_id, bot ON sessions FOR EACH ROW
    WHEN (NEW.bot AND NEW.player_id IS NOT NULL) EXECUTE FUNCTION mark_bot();

-- The past of a profile is read by the numbers of its boards, without those of others.
CREATE INDEX idx_boards_profile ON boards (profile, id);
