//! Own a conversation: mailbox, turn loop, entry tree, files, compaction.
