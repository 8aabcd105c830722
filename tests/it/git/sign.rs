//! Signatures and hooks, by the user's own git.
