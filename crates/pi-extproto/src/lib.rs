//! What extension and host say to each other: messages, manifests, host calls, log entries, WIT.
