//! Why something was lost, in the words of a table and of a sentence.

use lacuna_wire::session::CauseBody;

use crate::output::plain;

/// Under what it was lost: a directive, a rule of a policy, a reason. Somebody else may have written it.
pub(super) fn under(cause: &CauseBody) -> String {
    let retention = match (&cause.run, &cause.rule, &cause.policy) {
        (Some(run), Some(rule), Some(policy)) => Some(format!("{run}, rule {rule} of {policy}")),
        (Some(run), ..) => Some(run.clone()),
        _ => None,
    };
    let said = cause.directive.clone().or(retention).or_else(|| cause.why.clone());
    plain(&said.unwrap_or_default())
}

/// The whole cause on one line.
pub(super) fn sentence(cause: &CauseBody) -> String {
    let mut line = cause.kind.clone();
    if let Some(by) = &cause.by {
        line += &format!(" by {by}");
    }
    if let Some(directive) = &cause.directive {
        line += &format!(" under {directive}");
    }
    if let Some(run) = &cause.run {
        line += &format!(" run {run}");
    }
    if let (Some(rule), Some(policy)) = (&cause.rule, &cause.policy) {
        line += &format!(", rule {} of {policy},", plain(rule));
    }
    line += &format!(" at {}", cause.at);
    if let Some(why) = &cause.why {
        line += &format!(": {}", plain(why));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_cause_names_what_it_rests_on() {
        let of = |kind: &str| CauseBody {
            kind: kind.into(),
            at: "2026-11-30T06:00:00.000Z".into(),
            ..CauseBody::default()
        };
        let retention = CauseBody {
            run: Some("r3".into()),
            policy: Some("policy-2".into()),
            rule: Some("logs".into()),
            ..of("retention")
        };
        assert_eq!(under(&retention), "r3, rule logs of policy-2");
        assert_eq!(
            sentence(&retention),
            "retention run r3, rule logs of policy-2, at 2026-11-30T06:00:00.000Z"
        );
        let erasure = CauseBody {
            by: Some("officer".into()),
            why: Some("asked\u{1b} for".into()),
            ..of("erasure")
        };
        assert_eq!(under(&erasure), "asked· for");
        assert_eq!(
            sentence(&erasure),
            "erasure by officer at 2026-11-30T06:00:00.000Z: asked· for"
        );
        let directive = CauseBody {
            by: Some("cli".into()),
            directive: Some("p1@prune".into()),
            ..of("directive")
        };
        assert_eq!(under(&directive), "p1@prune");
        assert_eq!(under(&CauseBody { why: Some("bad".into()), ..of("damage") }), "bad");
    }
}
