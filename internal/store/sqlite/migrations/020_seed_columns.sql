-- Rows that a host types with the columns of the original alone. The server itself sets all columns, and takes
-- numbers that are free.

CREATE TRIGGER trigger_players_name AFTER INSERT ON players FOR EACH ROW WHEN NEW.handle = ''
BEGIN
    UPDATE players SET handle = 'h_' || lower(hex(substr(NEW.public_key, 1, 6))) WHERE id = NEW.id;
    DELETE FROM former_names WHERE player_id = NEW.id;
    UPDATE sequences SET next = NEW.id + 1 WHERE name = 'players' AND next <= NEW.id;
END;

CREATE TRIGGER trigger_sessions_number AFTER INSERT ON sessions FOR EACH ROW WHEN NEW.id >= (SELECT next FROM sequences WHERE name = 'sessions')
BEGIN
    UPDATE sequences SET next = NEW.id + 1 WHERE name = 'sessions';
END;

CREATE TRIGGER trigger_boards_profile AFTER INSERT ON boards FOR EACH ROW WHEN NEW.profile = ''
BEGIN
    UPDATE boards SET profile = coalesce((SELECT min(profile) FROM journal_cursors HAVING count(DISTINCT profile) = 1), '') WHERE id = NEW.id;
    UPDATE sequences SET next = NEW.id + 1 WHERE name = 'boards' AND next <= NEW.id;
END;

CREATE TRIGGER trigger_reservations_side AFTER INSERT ON reservations FOR EACH ROW WHEN NEW.started_at = 0
BEGIN
    UPDATE reservations SET started_at = CAST(unixepoch('subsec') * 1e6 AS INTEGER),
        reserved_for_white = (SELECT fen NOT LIKE '% b %' FROM boards WHERE id = NEW.board_id) WHERE board_id = NEW.board_id;
END;

CREATE TRIGGER trigger_moves_insert INSTEAD OF INSERT ON moves FOR EACH ROW
BEGIN
    INSERT INTO move_runs (board_id, first_ply, plies, ended_at, moves)
        VALUES (NEW.board_id, NEW.move_number, 1, coalesce(NEW.timestamp, CAST(unixepoch('subsec') * 1e6 AS INTEGER)),
            json_array(json_array(NEW.session_id, NEW.move_uci, 0)));
END;
