//! May it? Pure decisions about what an extension asks for.
