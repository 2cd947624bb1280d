//! Own extensions: registry, life cycle, the one dispatcher, ledger.
