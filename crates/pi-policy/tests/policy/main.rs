//! What the policy decides, through its public interface: settings as text in, decisions out.

mod answers;
mod configuration;
mod documentation;
mod explanation;
mod grants;
mod properties;
mod rules;
mod scenario;
mod traps;
