-- Tokens are kept as hashes: the first 16 bytes of their SHA-256, which the program
-- computes. This changes what the column means: an older program finds no session
-- any more.
UPDATE sessions SET token = wamble_token_hash(token) WHERE token IS NOT NULL;
