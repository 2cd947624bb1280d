//! When commands run: lanes, dependencies, versions, replay, timeouts, durability.
