//! The page: will build the web client from `web/` (TypeScript) and hand its files out as bytes.
//!
//! It will also hold the shell of the self-contained HTML export. It serves nothing itself and knows no other crate:
//! routes, headers and tokens belong to `pi-server`, the data shown on the page comes over the protocol of `pi-wire`.
//! Without Node the build is to succeed all the same, with a plain page that says what is missing.
//!
//! Not built yet: this crate is empty. The first type to read will be `Asset`, the bytes of one file with its media type.
