-- A login gives a session a new token, or binds the token to the host (a network
-- as text) that logged in. The time keeps a late copy from undoing a newer one.
ALTER TABLE sessions ADD COLUMN token_at TIMESTAMPTZ;
ALTER TABLE sessions ADD COLUMN token_host TEXT CHECK (length(token_host) <= 64);
