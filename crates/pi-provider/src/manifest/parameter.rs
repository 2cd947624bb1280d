//! What may be set in a request.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::number;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    #[serde(rename = "type")]
    pub kind: ParameterType,
    #[serde(default, serialize_with = "number::pair")]
    pub range: Option<(f64, f64)>,
    #[serde(default, serialize_with = "number::one")]
    pub min: Option<f64>,
    #[serde(default, serialize_with = "number::one")]
    pub max: Option<f64>,
    #[serde(default)]
    pub default: Option<Value>,
    #[serde(default, rename = "enum", alias = "values")]
    pub values: Option<Vec<Value>>,
    /// The standard name, where the key is the provider's.
    #[serde(default)]
    pub alias: Option<String>,
    #[serde(default)]
    pub required: bool,
    #[serde(default)]
    pub deprecated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterType {
    Float,
    Integer,
    Boolean,
    String,
    Array,
    Object,
    StringOrObject,
}
