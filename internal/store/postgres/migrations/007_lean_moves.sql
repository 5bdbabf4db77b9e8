-- Moves and payouts are nearly all of what is written. A foreign key is checked
-- row by row, which costs more than the row; the writer checks the boards and
-- sessions of a whole batch at once, under the same locks. Nobody asks for the
-- moves of a session: sessions.games_played says whether there are any.
ALTER TABLE moves DROP CONSTRAINT IF EXISTS moves_board_id_fkey, DROP CONSTRAINT IF EXISTS moves_session_id_fkey;
ALTER TABLE payouts DROP CONSTRAINT IF EXISTS payouts_board_id_fkey, DROP CONSTRAINT IF EXISTS payouts_session_id_fkey;
DROP INDEX IF EXISTS idx_moves_session_id;
