-- The eight tables of the original, in the types of SQLite. Times are whole
-- microseconds since 1970 (UTC): datetime(created_at / 1e6, 'unixepoch'). Moves
-- are kept by board and ply, which is how they are written and read; a number of
-- their own would only be a second tree.

CREATE TABLE players (
    id INTEGER PRIMARY KEY,
    public_key BLOB UNIQUE NOT NULL CHECK (length(public_key) = 32),
    rating REAL NOT NULL,
    created_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1e6 AS INTEGER))
) STRICT;

CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    token BLOB UNIQUE NOT NULL CHECK (length(token) = 16),
    player_id INTEGER NULL REFERENCES players(id),
    trust_level INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1e6 AS INTEGER)),
    last_seen_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1e6 AS INTEGER))
) STRICT;

CREATE TABLE boards (
    id INTEGER PRIMARY KEY,
    fen TEXT NOT NULL CHECK (length(fen) <= 90),
    status TEXT NOT NULL CHECK (status IN ('ACTIVE', 'RESERVED', 'DORMANT', 'ARCHIVED')),
    last_assignment_time INTEGER,
    created_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1e6 AS INTEGER)),
    updated_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1e6 AS INTEGER))
) STRICT;

CREATE TABLE moves (
    board_id INTEGER NOT NULL REFERENCES boards(id),
    session_id INTEGER NOT NULL REFERENCES sessions(id),
    move_uci TEXT NOT NULL CHECK (length(move_uci) <= 6),
    move_number INTEGER NOT NULL, -- by ply
    timestamp INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1e6 AS INTEGER)),
    PRIMARY KEY (board_id, move_number)
) STRICT, WITHOUT ROWID;

CREATE TABLE reservations (
    board_id INTEGER PRIMARY KEY REFERENCES boards(id),
    session_id INTEGER NOT NULL REFERENCES sessions(id),
    expires_at INTEGER NOT NULL
) STRICT;

CREATE TABLE game_results (
    board_id INTEGER PRIMARY KEY REFERENCES boards(id),
    winning_side TEXT NOT NULL CHECK (winning_side IN ('w', 'b', 'd')),
    finished_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1e6 AS INTEGER))
) STRICT;

CREATE TABLE payouts (
    id INTEGER PRIMARY KEY,
    board_id INTEGER NOT NULL REFERENCES boards(id),
    session_id INTEGER NOT NULL REFERENCES sessions(id),
    points_awarded REAL NOT NULL,
    created_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1e6 AS INTEGER))
) STRICT;

CREATE TABLE predictions (
    id INTEGER PRIMARY KEY,
    board_id INTEGER NOT NULL REFERENCES boards(id),
    session_id INTEGER NOT NULL REFERENCES sessions(id),
    predicted_move_uci TEXT NOT NULL CHECK (length(predicted_move_uci) <= 6),
    status TEXT NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'CORRECT', 'INCORRECT', 'EXPIRED')),
    created_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1e6 AS INTEGER))
) STRICT;

CREATE INDEX idx_sessions_token ON sessions (token);
CREATE INDEX idx_boards_status ON boards (status);
CREATE INDEX idx_moves_session_id ON moves (session_id);
CREATE INDEX idx_reservations_expires_at ON reservations (expires_at);
CREATE INDEX idx_payouts_session_id ON payouts (session_id);

-- Writers that set updated_at themselves are left alone, which spares the
-- second write of the row.
CREATE TRIGGER trigger_boards_updated_at
    AFTER UPDATE ON boards FOR EACH ROW WHEN NEW.updated_at = OLD.updated_at
BEGIN
    UPDATE boards SET updated_at = CAST(unixepoch('subsec') * 1e6 AS INTEGER) WHERE id = NEW.id;
END;
