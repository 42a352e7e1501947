//! What a contract in WIT says, in a form that two of them can be compared in.

use std::collections::BTreeMap;
use std::path::Path;

use wit_parser::{Function, Resolve, Type, TypeDefKind, TypeId, TypeOwner, WorldItem, WorldKey};

/// What a contract says, each thing under a name: functions and types of its interfaces, and its
/// worlds. Without versions and comments, which may change.
pub type Contract = BTreeMap<String, String>;

/// Reads the contract in a folder.
///
/// # Panics
/// It is no WIT.
#[must_use]
pub fn read(folder: &Path) -> Contract {
    let mut resolve = Resolve::default();
    let (package, _) = resolve
        .push_path(folder)
        .unwrap_or_else(|error| panic!("{}: {error:#}", folder.display()));
    let package = &resolve.packages[package];
    let name = format!("{}:{}", package.name.namespace, package.name.name);
    let mut contract = Contract::new();
    for (interface, id) in &package.interfaces {
        let interface_of = &resolve.interfaces[*id];
        for (function, what) in &interface_of.functions {
            let place = format!("{name}/{interface}: function {function}");
            contract.insert(place, signature(&resolve, what));
        }
        for (type_name, id) in &interface_of.types {
            let place = format!("{name}/{interface}: type {type_name}");
            contract.insert(place, definition(&resolve, *id));
        }
    }
    for (world, id) in &package.worlds {
        let world_of = &resolve.worlds[*id];
        let mut items: Vec<String> = Vec::new();
        for (way, all) in [("import", &world_of.imports), ("export", &world_of.exports)] {
            items.extend(
                all.iter()
                    .map(|(key, item)| format!("{way} {}", item_name(&resolve, key, item))),
            );
        }
        contract.insert(format!("{name}: world {world}"), items.join(", "));
    }
    contract
}

/// What of `before` a policy that was built against it would miss in `after`, each in a sentence.
/// A function that is new in an interface of before is one too: a policy that is built against
/// `after` would then claim an interface that hosts of before have, and not have the function there.
#[must_use]
pub fn changes(before: &Contract, after: &Contract) -> Vec<String> {
    let mut changes = Vec::new();
    for (place, was) in before {
        match after.get(place) {
            None => changes.push(format!("{place} is gone")),
            Some(is) if is != was => changes.push(format!("{place} was {was}, and is {is}")),
            Some(_) => {}
        }
    }
    let interfaces: Vec<&str> = before.keys().filter_map(|place| interface(place)).collect();
    for place in after.keys().filter(|place| !before.contains_key(*place)) {
        if interface(place).is_some_and(|interface| interfaces.contains(&interface)) {
            changes.push(format!(
                "{place} is new in an interface that was there before"
            ));
        }
    }
    changes
}

/// The interface that something belongs to; `None`: it is a world.
fn interface(place: &str) -> Option<&str> {
    place
        .split_once(": ")
        .map(|(interface, _)| interface)
        .filter(|interface| interface.contains('/'))
}

fn item_name(resolve: &Resolve, key: &WorldKey, item: &WorldItem) -> String {
    let name = match key {
        WorldKey::Name(name) => name.clone(),
        WorldKey::Interface(id) => resolve.interfaces[*id].name.clone().unwrap_or_default(),
    };
    match item {
        WorldItem::Function(function) => format!("{name}: {}", signature(resolve, function)),
        WorldItem::Type { id, .. } => format!("{name}: {}", definition(resolve, *id)),
        WorldItem::Interface { .. } => name,
    }
}

fn signature(resolve: &Resolve, function: &Function) -> String {
    let params: Vec<String> = function
        .params
        .iter()
        .map(|param| format!("{}: {}", param.name, named(resolve, &param.ty)))
        .collect();
    let result = function.result.map_or(String::new(), |result| {
        format!(" -> {}", named(resolve, &result))
    });
    format!("{:?} func({}){result}", function.kind, params.join(", "))
}

/// A type as it is named where it is used; one that has no name as it is built.
fn named(resolve: &Resolve, of: &Type) -> String {
    let Type::Id(id) = of else {
        return format!("{of:?}").to_lowercase();
    };
    match &resolve.types[*id].name {
        Some(name) => name.clone(),
        None => definition(resolve, *id),
    }
}

fn optional(resolve: &Resolve, of: &Option<Type>) -> String {
    of.map_or("_".to_owned(), |of| named(resolve, &of))
}

/// A type as it is built.
fn definition(resolve: &Resolve, id: TypeId) -> String {
    let name = |of: &Type| named(resolve, of);
    let braces = |kind: &str, parts: Vec<String>| format!("{kind} {{ {} }}", parts.join(", "));
    match &resolve.types[id].kind {
        TypeDefKind::Record(record) => {
            let field = |field: &wit_parser::Field| format!("{}: {}", field.name, name(&field.ty));
            braces("record", record.fields.iter().map(field).collect())
        }
        TypeDefKind::Variant(variant) => {
            let case = |case: &wit_parser::Case| match &case.ty {
                Some(of) => format!("{}({})", case.name, name(of)),
                None => case.name.clone(),
            };
            braces("variant", variant.cases.iter().map(case).collect())
        }
        TypeDefKind::Enum(members) => braces(
            "enum",
            members.cases.iter().map(|case| case.name.clone()).collect(),
        ),
        TypeDefKind::Flags(flags) => braces(
            "flags",
            flags.flags.iter().map(|flag| flag.name.clone()).collect(),
        ),
        TypeDefKind::Tuple(tuple) => {
            format!(
                "tuple<{}>",
                tuple.types.iter().map(name).collect::<Vec<_>>().join(", ")
            )
        }
        TypeDefKind::Option(of) => format!("option<{}>", name(of)),
        TypeDefKind::List(of) => format!("list<{}>", name(of)),
        TypeDefKind::Result(result) => format!(
            "result<{}, {}>",
            optional(resolve, &result.ok),
            optional(resolve, &result.err)
        ),
        TypeDefKind::Type(Type::Id(other)) => format!("the type {}", place(resolve, *other)),
        // An alias of a type that WIT has; or a kind that no contract here has: compared by all
        // that is known of it.
        other => format!("{other:?}").to_lowercase(),
    }
}

/// A type of another interface: that interface and its name.
fn place(resolve: &Resolve, id: TypeId) -> String {
    let of = &resolve.types[id];
    let name = of.name.clone().unwrap_or_default();
    match of.owner {
        TypeOwner::Interface(interface) => {
            let interface = resolve.interfaces[interface].name.as_deref();
            format!("{}.{name}", interface.unwrap_or_default())
        }
        TypeOwner::World(_) | TypeOwner::None => name,
    }
}
