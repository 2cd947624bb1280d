//! How likely it is that an extension means harm, and what either answer would then cost.
//!
//! The probability is a logistic function of a weighted sum: `1 / (1 + e^-(PRIOR + Σ weight · level))`. Every weight is
//! positive, so more evidence never makes an extension look better. The weights are judgements, written down in one
//! table so that they can be argued about; the losses are the specification's.

use serde::{Serialize, Serializer, ser::SerializeMap};

/// One kind of evidence. Each has a level between 0 (no sign of it) and 1 (as bad as it gets).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    UsesFs,
    UsesExec,
    UsesNetwork,
    UsesEnv,
    Unsigned,
    Unscanned,
    SizeMb,
    Findings,
    Obfuscated,
    Denials,
    Traps,
    OutsideReach,
}

/// A line of the table of weights.
#[derive(Debug, Clone, Copy)]
pub struct Weight {
    pub feature: Feature,
    pub name: &'static str,
    pub weight: f64,
    pub meaning: &'static str,
}

const fn weight(feature: Feature, name: &'static str, weight: f64, meaning: &'static str) -> Weight {
    Weight { feature, name, weight, meaning }
}

/// What each kind of evidence adds to the log-odds at level 1, in the order of [`Feature`].
pub const WEIGHTS: [Weight; 12] = [
    weight(Feature::UsesFs, "uses_fs", 0.5, "share of its host calls, or its code, that handles files"),
    weight(Feature::UsesExec, "uses_exec", 1.5, "the same for starting processes"),
    weight(Feature::UsesNetwork, "uses_network", 0.5, "the same for the network"),
    weight(Feature::UsesEnv, "uses_env", 0.5, "the same for environment variables"),
    weight(Feature::Unsigned, "unsigned", 1.0, "1 without a valid signature, less for one of a signer we barely know"),
    weight(Feature::Unscanned, "unscanned", 2.0, "share of its code that the scanner could not read"),
    weight(Feature::SizeMb, "size_mb", 0.5, "size of the artifact in megabytes / 10"),
    weight(Feature::Findings, "findings", 4.0, "forbidden interfaces found by the scanner / 5"),
    weight(Feature::Obfuscated, "obfuscated", 3.0, "eval, generated code, encoded strings: scanner's flags / 5"),
    weight(Feature::Denials, "denials", 2.0, "calls denied in the ledger / 10"),
    weight(Feature::Traps, "traps", 1.5, "limits hit and crashes in the ledger / 5"),
    weight(
        Feature::OutsideReach,
        "outside_reach",
        2.5,
        "1 if this call leaves the default files or the public network",
    ),
];

/// The log-odds of an extension about which nothing speaks: 0.67 % malicious.
pub const PRIOR: f64 = -5.0;

/// What each answer costs if the extension is harmless, and if it is not.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LossMatrix {
    pub benign_grant: f64,
    pub benign_deny: f64,
    pub malicious_grant: f64,
    pub malicious_deny: f64,
}

/// The specification's losses. Granting is the cheaper answer while the probability is below 2/101 = 1.98 %.
pub const LOSSES: LossMatrix =
    LossMatrix { benign_grant: 0.0, benign_deny: 2.0, malicious_grant: 100.0, malicious_deny: 1.0 };

/// A level for every [`Feature`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence([f64; WEIGHTS.len()]);

/// The answer with the smaller expected loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    Grant,
    Deny,
}

/// The evidence weighed: every number on the way from levels to choice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Assessment {
    pub evidence: Evidence,
    pub log_odds: f64,
    pub probability: f64,
    pub losses: LossMatrix,
    pub loss_of_grant: f64,
    pub loss_of_deny: f64,
    pub choice: Choice,
}

impl Evidence {
    /// Nothing speaks against the extension: it was scanned and signed, and nothing was found.
    pub const CLEAN: Self = Self([0.0; WEIGHTS.len()]);

    /// Nobody has looked: neither signed nor scanned.
    pub const fn unknown() -> Self {
        let mut levels = [0.0; WEIGHTS.len()];
        levels[Feature::Unsigned as usize] = 1.0;
        levels[Feature::Unscanned as usize] = 1.0;
        Self(levels)
    }

    /// Sets a level. Values outside 0 to 1 count as the nearer end; what is not a number counts as 1.
    #[must_use]
    pub const fn with(mut self, feature: Feature, level: f64) -> Self {
        self.0[feature as usize] = if level.is_nan() { 1.0 } else { level.clamp(0.0, 1.0) };
        self
    }

    /// Sets a level from a count that is as bad as it gets at `worst`.
    #[must_use]
    pub fn with_count(self, feature: Feature, count: u64, worst: u64) -> Self {
        // Counts are far below 2^53; beyond it the quotient is 1 anyway.
        #[expect(clippy::cast_precision_loss, reason = "a level needs three digits, not sixteen")]
        let level = count as f64 / worst.max(1) as f64;
        self.with(feature, level)
    }

    pub const fn level(&self, feature: Feature) -> f64 {
        self.0[feature as usize]
    }
}

/// Weighs evidence with the table and the losses of this module.
pub fn assess(evidence: &Evidence) -> Assessment {
    let log_odds = WEIGHTS.iter().fold(PRIOR, |sum, line| sum + line.weight * evidence.level(line.feature));
    let probability = 1.0 / (1.0 + (-log_odds).exp());
    let expected = |benign: f64, malicious: f64| (1.0 - probability) * benign + probability * malicious;
    let loss_of_grant = expected(LOSSES.benign_grant, LOSSES.malicious_grant);
    let loss_of_deny = expected(LOSSES.benign_deny, LOSSES.malicious_deny);
    let choice = if loss_of_grant < loss_of_deny { Choice::Grant } else { Choice::Deny };
    Assessment { evidence: *evidence, log_odds, probability, losses: LOSSES, loss_of_grant, loss_of_deny, choice }
}

/// As a list of terms: each feature with its level, weight and product.
impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Term {
            level: f64,
            weight: f64,
            product: f64,
        }
        let mut map = serializer.serialize_map(Some(WEIGHTS.len()))?;
        for Weight { feature, name, weight, .. } in WEIGHTS {
            let level = self.level(feature);
            map.serialize_entry(name, &Term { level, weight, product: level * weight })?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn table_is_in_the_order_of_the_features_and_only_counts_against() {
        for (index, line) in WEIGHTS.iter().enumerate() {
            assert_eq!(line.feature as usize, index, "{}", line.name);
            assert!(line.weight > 0.0, "{}", line.name);
            assert_eq!(serde_json::to_value(line.feature).expect("JSON"), line.name);
        }
    }

    #[track_caller]
    fn check(evidence: Evidence, expected: &str) {
        let it = assess(&evidence);
        let (p, grant, deny) = (it.probability, it.loss_of_grant, it.loss_of_deny);
        assert_eq!(format!("p={p:.4} grant={grant:.3} deny={deny:.3} {:?}", it.choice), expected);
    }

    #[test]
    fn numbers_are_those_of_the_document() {
        check(Evidence::CLEAN, "p=0.0067 grant=0.669 deny=1.993 Grant");
        check(Evidence::unknown(), "p=0.1192 grant=11.920 deny=1.881 Deny");
        let specification = Evidence::CLEAN
            .with(Feature::UsesFs, 0.8)
            .with(Feature::UsesExec, 0.1)
            .with(Feature::Unsigned, 0.6)
            .with(Feature::SizeMb, 0.2);
        check(specification, "p=0.0230 grant=2.298 deny=1.977 Deny");
        check(specification.with(Feature::Unsigned, 0.0), "p=0.0127 grant=1.274 deny=1.987 Grant");
        check(Evidence::CLEAN.with(Feature::OutsideReach, 1.0), "p=0.0759 grant=7.586 deny=1.924 Deny");
        check(Evidence::CLEAN.with_count(Feature::Findings, 1, 3), "p=0.0249 grant=2.492 deny=1.975 Deny");
    }

    #[test]
    fn levels_are_brought_into_range() {
        for (level, kept) in [(f64::NAN, 1.0), (f64::INFINITY, 1.0), (-1.0, 0.0), (-f64::INFINITY, 0.0), (0.25, 0.25)] {
            assert_eq!(Evidence::CLEAN.with(Feature::Traps, level).level(Feature::Traps).to_bits(), f64::to_bits(kept));
        }
        assert_eq!(
            Evidence::CLEAN.with_count(Feature::Traps, u64::MAX, 0).level(Feature::Traps).to_bits(),
            1f64.to_bits()
        );
    }

    proptest! {
        #[test]
        fn more_evidence_never_looks_better(levels in prop::array::uniform12(0.0..=1.0f64), at in 0usize..12, more in 0.0..=1.0f64) {
            let before = Evidence(levels);
            let after = before.with(WEIGHTS[at].feature, before.0[at].max(more));
            let (before, after) = (assess(&before), assess(&after));
            prop_assert!(after.probability >= before.probability);
            prop_assert!(before.choice == Choice::Grant || after.choice == Choice::Deny);
            prop_assert!((0.0..=1.0).contains(&after.probability) && after.loss_of_grant.is_finite());
        }
    }
}
