//! Time zones for extensions: the engine knows none but the machine's own, and that without a name.

use jiff::{
    Timestamp,
    tz::{Dst, TimeZone},
};
use rquickjs::{Ctx, Function, Object, Result};

/// The functions that know zones.
pub(super) fn functions<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> Result<()> {
    native.set("timeZone", Function::new(ctx.clone(), own)?)?;
    native.set("zoneName", Function::new(ctx.clone(), |zone: String| canonical(&zone))?)?;
    native.set("zoneOffset", Function::new(ctx.clone(), |zone: String, at: f64| offset(&zone, at))?)?;
    native.set("isSummer", Function::new(ctx.clone(), |zone: String, at: f64| is_summer(&zone, at))?)
}

/// The name of the machine's own zone, if it has one.
fn own() -> Option<String> {
    TimeZone::try_system().ok()?.iana_name().map(str::to_owned)
}

/// The name of a zone as it is usually written; nothing if there is none of that name.
fn canonical(zone: &str) -> Option<String> {
    TimeZone::get(zone).ok()?.iana_name().map(str::to_owned)
}

/// How many seconds a zone is ahead of UTC, so many milliseconds after the epoch.
fn offset(zone: &str, at: f64) -> Option<i32> {
    Some(TimeZone::get(zone).ok()?.to_offset(moment(at)?).seconds())
}

fn is_summer(zone: &str, at: f64) -> Option<bool> {
    Some(TimeZone::get(zone).ok()?.to_offset_info(moment(at)?).dst() == Dst::Yes)
}

/// Nothing for times that no calendar of ours knows.
fn moment(at: f64) -> Option<Timestamp> {
    #[expect(clippy::cast_possible_truncation, reason = "dates of JavaScript are whole, and far below 2^53")]
    Timestamp::from_millisecond(at as i64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_known_by_their_names() {
        let winter = 0.0;
        let summer = 1_752_000_000_000.0;
        for (zone, at, expected) in [
            ("UTC", winter, Some(0)),
            ("America/New_York", winter, Some(-5 * 3600)),
            ("America/New_York", summer, Some(-4 * 3600)),
            ("europe/berlin", summer, Some(2 * 3600)),
            ("Asia/Kolkata", summer, Some(19_800)),
            ("Mars/Olympus", winter, None),
            ("../../etc/passwd", winter, None),
            ("UTC", 8.64e15, None),
        ] {
            assert_eq!(offset(zone, at), expected, "{zone} {at}");
        }
        assert_eq!(canonical("europe/BERLIN").as_deref(), Some("Europe/Berlin"));
        assert_eq!((is_summer("Europe/Berlin", winter), is_summer("Europe/Berlin", summer)), (Some(false), Some(true)));
    }
}
