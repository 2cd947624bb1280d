//! Extension artifact pipeline: bundle, scan, shim, compile, cache.
