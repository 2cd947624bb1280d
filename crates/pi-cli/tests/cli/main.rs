//! Runs the real binary and compares everything that it writes, and the code with which it ends.

mod answer;
mod ask;
mod asked;
mod attached;
mod basics;
mod config;
mod consent;
mod documents;
mod envelope;
mod ext;
mod ext_message;
mod failure;
mod ledger;
mod mcp;
mod models;
mod network;
mod policy;
mod provider;
mod schema;
mod scratch;
mod server;
mod sessions;
mod talk;
mod terminal;
mod trust;
mod world;
