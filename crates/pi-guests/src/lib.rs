//! The three extension tiers behind one trait.
