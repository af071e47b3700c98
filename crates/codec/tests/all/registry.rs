//! `schemas/events.md` and the code say the same.

use lacuna_codec::KINDS;

use crate::schemas;

/// The cells of the rows of the table under this heading, without the head.
fn table(page: &str, heading: &str) -> Vec<Vec<String>> {
    let section = page.split(heading).nth(1).unwrap_or_else(|| panic!("no {heading:?}"));
    let lines = section.lines().skip_while(|line| !line.starts_with('|'));
    let rows = lines.take_while(|line| line.starts_with('|')).skip(2);
    rows.map(|row| row.trim_matches('|').split('|').map(|c| c.trim().to_owned()).collect())
        .collect()
}

#[test]
fn the_registry_lists_every_kind_with_its_number_and_version() {
    let page = std::fs::read_to_string(schemas().join("events.md")).unwrap();
    let rows: Vec<_> = table(&page, "## Kinds")
        .into_iter()
        .map(|row| {
            (row[0].parse().unwrap(), row[1].trim_matches('`').to_owned(), row[2].parse().unwrap())
        })
        .collect();
    let kinds: Vec<_> = KINDS.iter().map(|k| (k.number, k.name.to_owned(), k.version)).collect();
    assert_eq!(rows, kinds);
}

/// The fields of a frozen type, as its source declares them: `name type`, joined by `, `.
fn frozen(source: &str, name: &str) -> String {
    let body = source
        .split(&format!("struct {name} {{"))
        .nth(1)
        .and_then(|rest| rest.split('}').next())
        .unwrap_or_else(|| panic!("no frozen type {name}"));
    let fields = body.split(",\n").flat_map(|line| line.split(", ")).map(|field| {
        let (name, kind) = field.trim().trim_end_matches(',').split_once(": ")?;
        Some(format!("{} {}", name.trim(), kind.trim()))
    });
    fields.flatten().collect::<Vec<_>>().join(", ")
}

/// The fields as the page gives them, their types in the words of the source.
fn in_source(cell: &str) -> String {
    let word = |kind: &str| match kind {
        "text" => "String".to_owned(),
        "pairs" => "Pairs".to_owned(),
        other => other.to_owned(),
    };
    let fields = cell.trim_matches('`').split(", ").map(|field| {
        let (name, kind) = field.split_once(' ').unwrap_or_else(|| panic!("{field:?} has no type"));
        let kind = match (kind.strip_prefix("list of "), kind.strip_suffix('?')) {
            (Some(of), _) => format!("Vec<{}>", word(of)),
            (_, Some(of)) => format!("Option<{}>", word(of)),
            _ => word(kind),
        };
        format!("{name} {kind}")
    });
    fields.collect::<Vec<_>>().join(", ")
}

#[test]
fn the_registry_gives_the_fields_of_every_body_in_their_order() {
    let page = std::fs::read_to_string(schemas().join("events.md")).unwrap();
    let (first, second) =
        (include_str!("../../src/body/v1.rs"), include_str!("../../src/body/v2.rs"));
    let source = &format!("{first}{second}");
    let mut compared = 0;
    let kinds = table(&page, "## Kinds").into_iter().map(|row| {
        let name = row[1].trim_matches('`');
        let kind: String =
            name.split('-').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
        (format!("{kind}V{}", row[2]), row[4].clone())
    });
    let parts = table(&page, "## Parts").into_iter().map(|row| (row[0].clone(), row[1].clone()));
    for (name, fields) in kinds.chain(parts) {
        let name = name.trim_matches('`');
        if fields == "—" {
            assert_eq!(name, "SessionClosedV1", "only this body is empty");
            continue;
        }
        assert_eq!(in_source(&fields), frozen(source, name), "{name}");
        compared += 1;
    }
    assert_eq!(compared, source.matches("\n    struct ").count(), "of the frozen types");
}
