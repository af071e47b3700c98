//! The sample session of the demo: forty spans of an incident, one of which alone holds a request
//! id that nobody thinks of until five turns later.

use lacuna_wire::session::SpanBody;

/// The span that alone holds the identifier.
pub(super) const BLOCK: &str = "block_7";
/// The identifier.
pub(super) const IDENTIFIER: &str = "req-8f41c0d2-77ae";
/// What stands in the place of the forty spans.
pub(super) const DIGEST: &str = "Checkout was failing for about a tenth of customers. Logs of the \
    gateway, the payment service and the ledger were read; the ledger refused writes because its \
    connection pool was exhausted after the 14:05 rollout. The pool was raised and the rollout \
    repeated; error rates are back to normal. Open: tell the payment provider which request was \
    charged twice.";

const SERVICES: [&str; 4] = ["gateway", "payments", "ledger", "mailer"];

/// The forty spans; with `withheld`, the seventh is recorded without its content.
pub(super) fn spans(withheld: bool) -> Vec<SpanBody> {
    (1..=40).map(|number| span(number, withheld && number == 7)).collect()
}

fn span(number: usize, withheld: bool) -> SpanBody {
    let service = SERVICES[number % SERVICES.len()];
    let id = format!("block_{number}");
    let (role, origin, content) = match number {
        1 => {
            ("user", "user", "Checkout fails for some customers since 14:05. Find out why.".into())
        }
        7 => ("tool", "tool", log_with_identifier()),
        n if n % 8 == 1 => ("user", "user", format!("And the {service}? Anything odd there?")),
        n if n % 2 == 0 => (
            "assistant",
            "model",
            format!(
                "I will read the logs of the {service} between 14:00 and 14:{n} and compare the error \
             rate with the hour before."
            ),
        ),
        n => ("tool", "tool", log(n, service)),
    };
    let mut body = SpanBody {
        id: Some(id),
        role: role.into(),
        origin: origin.into(),
        turn: Some(number as u64 / 8 + 1),
        in_window: true,
        ..SpanBody::default()
    };
    if withheld {
        body.withheld = Some(lacuna_wire::session::WithheldBody {
            digest: blake3::hash(content.as_bytes()).to_hex().to_string(),
            bytes: content.len() as u64,
            reason: "holds a customer's payment data".into(),
        });
    } else {
        body.content = Some(content);
    }
    body
}

fn log(number: usize, service: &str) -> String {
    let line = |i: usize| {
        format!(
            "14:{:02}:{:02} {service} INFO handled in {} ms, pool {}/32\n",
            (number + i) % 60,
            (i * 7) % 60,
            20 + (number * i) % 180,
            (number + i) % 33
        )
    };
    (0..12).map(line).collect()
}

fn log_with_identifier() -> String {
    format!(
        "{}14:07:31 ledger ERROR pool exhausted, write refused; charge already captured, \
         request {IDENTIFIER}, will not be retried\n",
        log(7, "ledger")
    )
}
