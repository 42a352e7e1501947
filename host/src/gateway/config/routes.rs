//! The routes of the file.

use std::time::Duration;

use fusewire_core::Problem;
use fusewire_core::config::Reader;
use http::Method;

use super::providers::near;
use super::read::{Findings, HOUR};
use super::{ProviderConfig, RouteConfig};
use crate::gateway::routes::{Pattern, RESERVED};

/// Each route, in the order of the file.
pub(super) fn routes(
    root: &Reader<'_>,
    providers: &[ProviderConfig],
    findings: &Findings,
) -> Vec<RouteConfig> {
    // A gateway may be there for filters in Envoy alone.
    if !root.has("routes") && (root.has("providers") || !root.has("exchange")) {
        let right = r#"write [[routes]] with a `path` and a `chain`"#;
        root.problem("routes", "there is no route", right);
    }
    let mut routes: Vec<RouteConfig> = Vec::new();
    for section in root.list("routes") {
        let path = path(&section, &routes);
        let route = RouteConfig {
            path,
            chain: chain(&section, providers, findings),
            methods: methods(&section),
            deadline: section
                .duration_ms_opt("deadline", 1..=HOUR)
                .map(Duration::from_millis),
        };
        section.finish();
        routes.push(route);
    }
    routes
}

fn path(section: &Reader<'_>, before: &[RouteConfig]) -> Pattern {
    const FORM: &str = r#"write one such as "/geocode", or "/tiles/*" for all that begins so"#;
    if !section.has("path") {
        section.problem("path", "`path` is missing", FORM);
    }
    let Some(text) = section.text("path") else {
        return Pattern::default();
    };
    let Some(path) = Pattern::parse(&text) else {
        section.problem("path", format!("{text:?} is not a path"), FORM);
        return Pattern::default();
    };
    if RESERVED.iter().any(|own| path.is_exactly(own)) {
        section.problem(
            "path",
            format!("{text} is the gateway's own"),
            "choose another",
        );
    }
    if before.iter().any(|route| route.path == path) {
        section.problem(
            "path",
            format!("{text} has a route already"),
            "keep one of them",
        );
    }
    path
}

fn chain(section: &Reader<'_>, providers: &[ProviderConfig], findings: &Findings) -> Vec<usize> {
    const FORM: &str = r#"write providers in the order they are asked, such as ["photon"]"#;
    if !section.has("chain") {
        section.problem("chain", "`chain` is missing", FORM);
    }
    let names = section.texts("chain");
    if names.as_ref().is_some_and(Vec::is_empty) {
        section.problem("chain", "there is nobody to ask", FORM);
    }
    let mut chain = Vec::new();
    for (at, name) in names.unwrap_or_default().iter().enumerate() {
        let wrong = |wrong: String, right: String| {
            let path = format!("{}/{at}", section.path("chain"));
            findings.problem(Problem { path, wrong, right });
        };
        match providers.iter().position(|p| p.target.provider == *name) {
            Some(provider) if chain.contains(&provider) => {
                wrong(
                    format!("{name} is in this chain already"),
                    "leave it out".into(),
                );
            }
            Some(provider) => chain.push(provider),
            None => wrong(
                format!("no provider is called {name:?}"),
                near(name, providers),
            ),
        }
    }
    chain
}

fn methods(section: &Reader<'_>) -> Option<Vec<Method>> {
    const FORM: &str = r#"write methods in capitals, such as ["GET", "POST"]"#;
    let names = section.texts("methods")?;
    if names.is_empty() {
        section.problem("methods", "this route would take nothing", FORM);
    }
    let mut methods = Vec::new();
    for name in &names {
        match Method::from_bytes(name.as_bytes()) {
            Ok(method) if name.chars().all(|c| c.is_ascii_uppercase()) => methods.push(method),
            _ => section.problem("methods", format!("{name:?} is not a method"), FORM),
        }
    }
    Some(methods)
}
