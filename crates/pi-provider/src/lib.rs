//! Talk to a model: manifests, requests, streams, errors.
