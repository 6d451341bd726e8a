"""Service accounts and the tokens kept in Secrets for them."""
