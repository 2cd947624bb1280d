//! The words of the commands about providers and models.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Subcommand)]
pub(crate) enum ProviderCommand {
    /// Say whether files are manifests, and what is wrong with those that are not
    Validate(ManifestArguments),
    /// Print a manifest of an older version in the form of version 2
    Promote(PromoteArguments),
}

#[derive(Args)]
pub(crate) struct ManifestArguments {
    /// Files; `-` is standard input, a folder stands for the .yaml, .yml and .json files below it
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print one object per file: {file, valid, errors, warnings, …}
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not show valid files
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,
}

#[derive(Args)]
pub(crate) struct PromoteArguments {
    /// The manifest; `-` is standard input
    pub(crate) file: PathBuf,
    /// In which notation
    #[arg(long, value_enum, default_value = "yaml")]
    pub(crate) format: Notation,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Notation {
    Yaml,
    Json,
}
