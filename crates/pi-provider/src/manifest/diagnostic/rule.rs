//! Every rule that a file can break.
//!
//! The list is closed: a finding names one of these, and `rules.yaml` has advice for each.

use std::{collections::BTreeMap, fmt, sync::LazyLock};

macro_rules! rules {
    ($($variant:ident $name:literal)*) => {
        /// A rule, in the order of reading: the file, its expressions, the rings, what stands beside manifests, and what
        /// they are together.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl Rule {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// As it is shown: `ring1.id`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

rules! {
    FileSize "file.size"
    FileSyntax "file.syntax"
    FileDuplicateKey "file.duplicate-key"
    FileBudget "file.budget"
    ConditionSyntax "expression.condition"
    PathSyntax "expression.path"
    PatternSyntax "expression.pattern"
    MemberSyntax "expression.member"
    PointerSyntax "expression.pointer"
    Id "ring1.id"
    Aliases "ring1.aliases"
    ProtocolVersion "ring1.protocol-version"
    EndpointSection "ring1.endpoint"
    BaseUrl "ring1.base-url"
    ChatPath "ring1.chat"
    OperationAddress "ring1.operation"
    NetworkProtocol "ring1.protocol"
    Timeout "ring1.timeout"
    AuthSection "ring1.auth"
    AuthType "ring1.auth-type"
    AuthHeader "ring1.auth-header"
    AuthParameter "ring1.auth-param"
    TokenVariable "ring1.token-env"
    ShadowedAuth "ring1.shadowed-auth"
    ErrorSection "ring1.error-classification"
    ErrorName "ring1.error-name"
    HttpStatus "ring1.status"
    LeastStatuses "ring1.least-statuses"
    StatusMeaning "ring1.status-meaning"
    ErrorMessage "ring1.error-message"
    RetryAfter "ring1.retry-after"
    Notes "ring1.notes"
    CapabilitySection "ring2.capabilities"
    UnknownCapability "ring2.unknown-capability"
    TextCapability "ring2.text"
    FeatureFlags "ring2.feature-flags"
    ToolCalling "ring2.tool-calling"
    StreamingSection "ring2.streaming"
    StreamDecoder "ring2.decoder"
    EventMap "ring2.event-map"
    ParameterSection "ring2.parameters"
    ParameterAlias "ring2.parameter-alias"
    MultimodalSection "ring2.multimodal"
    ComputerUseSection "ring2.computer-use"
    McpSection "ring2.mcp"
    ProfileSection "ring2.capability-profile"
    Name "ring3.name"
    FileVersion "ring3.version"
    Status "ring3.status"
    Category "ring3.category"
    OfficialUrl "ring3.official-url"
    SupportContact "ring3.support-contact"
    OperationSection "ring3.endpoints"
    ServiceSection "ring3.services"
    RateLimitHeaders "ring3.rate-limit-headers"
    RetryPolicySection "ring3.retry-policy"
    TerminationSection "ring3.termination"
    GuardrailSection "ring3.guardrails"
    ContractSection "ring3.contract"
    MetadataSection "ring3.metadata"
    LocalSection "ring3.local"
    Models "ring3.models"
    ModelName "ring3.model-name"
    ThinkingLevels "ring3.thinking-levels"
    DefaultApiFamily "ring3.default-api-family"
    ApiFamilySection "ring3.api-families"
    AvailabilitySection "ring3.availability"
    Regions "ring3.regions"
    PricingSection "ring3.pricing"
    ContextPolicySection "ring3.context-policy"
    RoutingSection "ring3.routing"
    TelemetrySection "ring3.telemetry"
    FeatureSection "ring3.features"
    ExperimentalSection "experimental.section"
    Performance "experimental.performance"
    PromoteAuth "promote.auth"
    PromoteCapabilities "promote.capabilities"
    PromoteErrors "promote.error-classification"
    PromoteFilter "promote.filter"
    PromoteModels "promote.models"
    ModelFile "models.models"
    ModelProvider "models.provider"
    ContractHeading "contract.heading"
    ContractVersion "contract.version"
    ContractProvider "contract.provider"
    ContractFile "contract.section"
    PiProviders "models-json.providers"
    PiProvider "models-json.provider"
    PiCommand "models-json.command"
    PiCompat "models-json.compat"
    CatalogUnreadable "catalog.unreadable"
    CatalogDuplicateId "catalog.duplicate-id"
    CatalogDuplicateAlias "catalog.duplicate-alias"
    CatalogReplaced "catalog.replaced"
    CatalogAlias "catalog.alias"
    CatalogUntrusted "catalog.untrusted"
    CatalogNoProvider "catalog.no-provider"
}

static HINTS: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("rules.yaml")).expect("our own file, read by a test"));

impl Rule {
    /// What to do about it, where nothing better is known of the case.
    pub fn hint(self) -> &'static str {
        HINTS.get(self.name()).expect("a test looks for the advice of every rule")
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rule_has_advice_and_all_advice_is_of_a_rule() {
        let names: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        let advised: BTreeSet<&str> = HINTS.keys().map(String::as_str).collect();
        assert_eq!(names, advised);
        assert_eq!(names.len(), Rule::ALL.len(), "no two rules have one name");
        assert_eq!(Rule::ALL.iter().find(|rule| rule.hint().trim().is_empty()), None);
    }
}
