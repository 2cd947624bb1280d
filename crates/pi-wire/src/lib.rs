//! What clients and server say: commands, responses, events, the registry, validation.
