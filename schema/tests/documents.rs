//! The committed documents are those of the declarations. `UPDATE=1` rewrites them.

use std::path::Path;

fn check(name: &str, fresh: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, fresh).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == fresh,
        "{name} is stale: run UPDATE=1 cargo test --release and look at the difference"
    );
}

#[test]
fn schema_markdown_is_fresh() {
    check("SCHEMA.md", &etwas_schema::schema_markdown());
}

#[test]
fn schema_sql_is_fresh() {
    check("schema.sql", &etwas_schema::schema_sql());
}

#[test]
fn names_keep_the_house_rules() {
    for table in etwas_schema::TABLES {
        assert!(!table.doc.trim().is_empty(), "{}", table.name);
        for c in table.columns {
            assert!(c.doc.trim().ends_with('.'), "{}.{} has no sentence", table.name, c.name);
            if c.name.ends_with("_ns")
                || c.name.ends_with("_key")
                || c.name.ends_with("tid")
                || c.name.ends_with("pid")
            {
                assert_eq!(c.sql_type, "BIGINT", "{}.{}", table.name, c.name);
            }
        }
    }
}
