//! Checks of pictures for tests.

/// Panics unless a picture is well-formed XML: one element, tags closed in order, paired quotes, and
/// every `&` the start of an entity.
pub(crate) fn check_well_formed(drawn: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = drawn;
    while let Some(at) = rest.find('<') {
        check_text(&rest[..at]);
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes of {tag:?}");
        assert!(!tag.contains('<'), "{tag:?}");
        let name = tag.trim_matches('/').split_whitespace().next().expect("a name");
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name), "what {tag:?} closes"),
            (false, false) => open.push(name),
            (false, true) => {}
        }
        rest = &rest[end + 1..];
        assert!(!open.is_empty() || rest.trim().is_empty(), "after the end: {rest:?}");
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?}");
}

fn check_text(text: &str) {
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    for entity in text.split('&').skip(1) {
        let name = entity.split(';').next().unwrap_or_default();
        assert!(["amp", "lt", "gt", "quot", "#39"].contains(&name), "{text:?}");
    }
}

#[test]
fn malformed_xml_is_found() {
    check_well_formed("<svg a=\"b\"><g/><t>x &amp; y</t></svg>\n");
    for bad in ["<svg>", "<svg></g></svg>", "<svg>&</svg>", "<svg a=\"b></svg>", "<a/><b/>"] {
        assert!(std::panic::catch_unwind(|| check_well_formed(bad)).is_err(), "{bad}");
    }
}
