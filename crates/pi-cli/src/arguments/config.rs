//! The words of `pi config`.

use clap::Args;

use super::serve::SettingArguments;

#[derive(Args)]
pub(crate) struct ConfigArguments {
    /// Only settings whose names contain one of these words, such as `server`
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// One object per setting: {setting, value, unit?, origin, file?, line?, column?, variable?, flag?}, and per problem:
    /// {problem, severity, file?, line?, column?, variable?, flag?}
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: SettingArguments,
}
