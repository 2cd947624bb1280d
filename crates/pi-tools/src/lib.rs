//! The built-in tools and the seams where file and process scopes apply.
