//! What must not be written: secrets and personal data, found by key, by shape and by exact value.
