//! Whether a component is of this host's contract, by the names of what it imports and exports.
//!
//! Within `0.1` every version of the contract has all that the ones before it have, unchanged
//! (`wit/README.md`), and wasmtime takes one for the other. So a policy of any version within it
//! runs, as long as it imports nothing that came after this host.

use super::LoadError;

/// The version of `wit/`.
pub(crate) const VERSION: Version = Version(0, 1, 2);

/// What the names of all interfaces of the contract begin with.
pub(crate) const PACKAGE: &str = "fusewire:policy/";

/// The only interface that a policy may import.
pub(crate) const IMPORT: &str = "keyvalue";

/// What every policy exports.
pub(crate) const EXPORTS: [&str; 4] = ["lifecycle", "classifier", "breaker", "planner"];

/// What a policy may export besides, and is looked at here.
pub(crate) const OPTIONAL: [&str; 3] = [EVIDENCE, ATTEMPTS, OPERATOR];

/// What says what a policy looks at. Without it a policy gets all header fields and trailers, and no
/// body.
pub(crate) const EVIDENCE: &str = "evidence";

/// What limits attempts, and is told how long they took. Without it a policy is asked by `breaker`,
/// sets no limits and is told no latencies.
pub(crate) const ATTEMPTS: &str = "attempts";

/// What answers operators. Without it a policy gets orders without a share of enforcement, and is not
/// asked why a domain stands as it does.
pub(crate) const OPERATOR: &str = "operator";

/// A version as Semantic Versioning has it, without what may stand behind its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u64, u64, u64);

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text
            .split(['-', '+'])
            .next()?
            .splitn(3, '.')
            .map(|n| n.parse().ok());
        Some(Self(numbers.next()??, numbers.next()??, numbers.next()??))
    }

    /// Whether wasmtime takes one for the other. Before 1.0 a minor version may break.
    fn is_compatible(self, other: Self) -> bool {
        self.0 == other.0 && self.1 == other.1
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// An interface of the contract and its version; `None`: the name is of something else.
fn parse(name: &str) -> Option<(&str, Version)> {
    let (interface, version) = name.strip_prefix(PACKAGE)?.split_once('@')?;
    Some((interface, Version::parse(version)?))
}

/// Whether this names an interface of the contract in a version that this host can run.
pub(crate) fn names(name: &str, interface: &str) -> bool {
    parse(name).is_some_and(|(it, version)| it == interface && version.is_compatible(VERSION))
}

/// Whether this names an interface of a contract that came after this host's, compatible with it or
/// not: a newer host may have it.
pub(crate) fn came_later(name: &str) -> bool {
    parse(name).is_some_and(|(_, version)| version > VERSION)
}

/// Checks the names of what a component imports and exports.
///
/// # Errors
/// [`LoadError::Import`]: it imports what no policy may; [`LoadError::Contract`]: it is built
/// against a contract that this host does not have.
pub(crate) fn check<'n>(
    imports: impl Iterator<Item = &'n str>,
    exports: impl Iterator<Item = &'n str>,
) -> Result<(), LoadError> {
    for name in imports {
        match parse(name) {
            Some((_, version)) if !version.is_compatible(VERSION) => {
                return Err(another("imports", name, version));
            }
            Some((IMPORT, _)) => {}
            Some(_) if came_later(name) => {
                return Err(LoadError::Contract(format!(
                    "a newer host: it imports `{name}`, and this host's contract, {VERSION}, has no \
                     such interface"
                )));
            }
            _ => return Err(LoadError::Import(name.to_owned())),
        }
    }
    let exports: Vec<(&str, &str, Version)> = exports
        .filter_map(|name| parse(name).map(|(interface, version)| (name, interface, version)))
        .collect();
    for wanted in EXPORTS {
        let mut found = exports
            .iter()
            .filter(|(_, interface, _)| *interface == wanted);
        // A policy may export an interface in several contracts, to run on hosts of each.
        if found
            .clone()
            .any(|(_, _, version)| version.is_compatible(VERSION))
        {
            continue;
        }
        // One that is not there at all is for wasmtime to tell.
        if let Some((name, _, version)) = found.next() {
            return Err(another("exports", name, *version));
        }
    }
    Ok(())
}

fn another(does: &str, name: &str, version: Version) -> LoadError {
    let age = if version > VERSION {
        "a newer"
    } else {
        "an older"
    };
    LoadError::Contract(format!(
        "{age} host: it {does} `{name}`, and this host's contract is {VERSION}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(imports: &[&str], exports: &[&str]) -> String {
        match check(imports.iter().copied(), exports.iter().copied()) {
            Ok(()) => "fits".into(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_version_is_that_of_the_contract_in_wit() {
        let package = include_str!("../../../wit/package.wit");
        assert!(package.ends_with(&format!("package fusewire:policy@{VERSION};\n")));
    }

    #[test]
    fn a_policy_may_export_an_interface_in_several_contracts() {
        let both = [
            "fusewire:policy/breaker@0.2.0",
            "fusewire:policy/breaker@0.1.3",
        ];
        assert_eq!(of(&[], &both), "fits");
        assert_eq!(
            of(&[], &both[..1]),
            "the policy needs a newer host: it exports `fusewire:policy/breaker@0.2.0`, and this \
             host's contract is 0.1.2"
        );
    }

    #[test]
    fn a_name_that_only_looks_like_the_contracts_is_foreign() {
        for name in [
            "fusewire:policy/keyvalue",
            "fusewire:policy/keyvalue@",
            "fusewire:policy/keyvalue@0.1",
            "fusewire:policy/keyvalue@0.1.x",
            "fusewire:policy/breaker@0.1.0",
            "fusewire:policy2/keyvalue@0.1.0",
            "keyvalue",
        ] {
            assert!(
                of(&[name], &[]).contains("may import nothing but"),
                "{name}"
            );
        }
    }
}
