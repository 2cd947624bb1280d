//! The page: builds and embeds the web client.
