-- The text of each revision of the terms, once; and who accepted which.
CREATE TABLE profile_terms (
    tos_hash BLOB PRIMARY KEY CHECK (length(tos_hash) = 32),
    tos_text TEXT NOT NULL
) STRICT;
CREATE TABLE profile_terms_acceptances (
    session_id INTEGER NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    profile_name TEXT NOT NULL CHECK (length(profile_name) <= 128),
    tos_hash BLOB NOT NULL REFERENCES profile_terms(tos_hash),
    accepted_at INTEGER NOT NULL,
    PRIMARY KEY (session_id, profile_name, tos_hash)
) STRICT, WITHOUT ROWID;

-- Which last move was shown to whom, and when.
CREATE TABLE board_last_move_shown_events (
    session_id INTEGER NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    board_id INTEGER NOT NULL REFERENCES boards(id) ON DELETE CASCADE,
    shown_uci TEXT NOT NULL CHECK (length(shown_uci) <= 6),
    emitted_at INTEGER NOT NULL,
    PRIMARY KEY (session_id, board_id, emitted_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_board_last_move_shown_board ON board_last_move_shown_events (board_id, emitted_at);
