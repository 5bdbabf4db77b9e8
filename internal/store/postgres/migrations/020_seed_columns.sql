-- Rows that a host types with the columns of the original alone. The server itself sets all columns.

-- The key under which a session is stored, of the token that its player has.
CREATE FUNCTION token_hash(token BYTEA) RETURNS BYTEA LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ SELECT substring(sha256(token) FROM 1 FOR 16) $$;
COMMENT ON COLUMN sessions.token IS 'token_hash(token) of the token that the player has, which nobody can read here';

CREATE FUNCTION name_player() RETURNS TRIGGER AS $$
BEGIN
    NEW.handle := 'h_' || encode(substring(NEW.public_key FROM 1 FOR 6), 'hex');
    RETURN NEW;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER trigger_players_name BEFORE INSERT ON players FOR EACH ROW WHEN (NEW.handle IS NULL) EXECUTE FUNCTION name_player();

CREATE FUNCTION name_profile() RETURNS TRIGGER AS $$
BEGIN
    NEW.profile := coalesce((SELECT min(profile) FROM journal_cursors HAVING count(DISTINCT profile) = 1), '');
    RETURN NEW;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER trigger_boards_profile BEFORE INSERT ON boards FOR EACH ROW WHEN (NEW.profile = '') EXECUTE FUNCTION name_profile();

CREATE FUNCTION side_to_move() RETURNS TRIGGER AS $$
BEGIN
    NEW.reserved_for_white := (SELECT split_part(fen, ' ', 2) <> 'b' FROM boards WHERE id = NEW.board_id);
    RETURN NEW;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER trigger_reservations_side BEFORE INSERT ON reservations FOR EACH ROW WHEN (NEW.reserved_for_white IS NULL)
    EXECUTE FUNCTION side_to_move();

CREATE FUNCTION insert_move() RETURNS TRIGGER AS $$
BEGIN
    INSERT INTO move_runs (board_id, first_ply, plies, ended_at, moves)
        VALUES (NEW.board_id, NEW.move_number, 1, coalesce(NEW.timestamp, NOW()), json_build_array(json_build_array(NEW.session_id, NEW.move_uci, 0)));
    RETURN NEW;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER trigger_moves_insert INSTEAD OF INSERT ON moves FOR EACH ROW EXECUTE FUNCTION insert_move();
