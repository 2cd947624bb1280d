//! What the macro makes of the WIT package: every type and function of it.

#![allow(missing_docs, reason = "the package documents them")]

wit_bindgen::generate!({
    path: "wit",
    world: "extension",
    pub_export_macro: true,
    default_bindings_module: "pi_extension::bindings",
    additional_derives: [PartialEq, Clone],
});
