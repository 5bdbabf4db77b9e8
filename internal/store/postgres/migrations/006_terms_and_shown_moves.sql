-- The text of each revision of the terms, once; and who accepted which.
CREATE TABLE profile_terms (
    tos_hash BYTEA PRIMARY KEY CHECK (length(tos_hash) = 32),
    tos_text TEXT NOT NULL
);
CREATE TABLE profile_terms_acceptances (
    session_id BIGINT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    profile_name VARCHAR(128) NOT NULL,
    tos_hash BYTEA NOT NULL REFERENCES profile_terms(tos_hash),
    accepted_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (session_id, profile_name, tos_hash)
);

-- Which last move was shown to whom, and when.
CREATE TABLE board_last_move_shown_events (
    session_id BIGINT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    board_id BIGINT NOT NULL REFERENCES boards(id) ON DELETE CASCADE,
    shown_uci VARCHAR(6) NOT NULL,
    emitted_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (session_id, board_id, emitted_at)
);
CREATE INDEX idx_board_last_move_shown_board ON board_last_move_shown_events (board_id, emitted_at);
