//! Plugging components into one another, as `wac plug` does.

use std::fmt::Display;

use wac_graph::types::{Package, are_semver_compatible};
use wac_graph::{CompositionGraph, EncodeOptions, NodeId};

use crate::Result;

/// Plugs a component into another: of what the `socket` imports, it gets from the `plug` what that
/// exports, in the same version or one that is compatible. The whole imports what is left, and
/// exports what the socket does.
///
/// # Errors
/// They do not fit together.
pub fn plug(socket: &[u8], plug: &[u8]) -> Result<Vec<u8>> {
    compose(socket, plug, &[])
}

/// [`plug`], where the whole exports these interfaces of the plug as well.
///
/// # Errors
/// They do not fit together, or the plug does not export one of these.
pub fn plug_and_keep(socket: &[u8], plug: &[u8], kept: &[&str]) -> Result<Vec<u8>> {
    compose(socket, plug, kept)
}

fn compose(socket: &[u8], plug: &[u8], kept: &[&str]) -> Result<Vec<u8>> {
    let mut graph = CompositionGraph::new();
    let (socket, socket_names) = instance(&mut graph, "socket", socket)?;
    let (plug, plug_names) = instance(&mut graph, "plug", plug)?;
    let fits: Vec<(&String, &String)> = socket_names
        .imports
        .iter()
        .filter_map(|name| Some((name, plug_names.export(name)?)))
        .collect();
    if fits.is_empty() {
        return Err(format!(
            "nothing fits: what is to be plugged in exports {}, and what it is plugged into imports \
             {}",
            plug_names.exports.join(", "),
            socket_names.imports.join(", ")
        ));
    }
    for (name, from) in fits {
        let export = graph.alias_instance_export(plug, from).map_err(told)?;
        graph
            .set_instantiation_argument(socket, name, export)
            .map_err(told)?;
    }
    let exports = socket_names
        .exports
        .iter()
        .map(|name| (socket, name.as_str()));
    for (from, name) in exports.chain(kept.iter().map(|name| (plug, *name))) {
        let export = graph.alias_instance_export(from, name).map_err(told)?;
        graph.export(export, name).map_err(told)?;
    }
    graph.encode(EncodeOptions::default()).map_err(told)
}

/// What a component imports and exports.
struct Names {
    imports: Vec<String>,
    exports: Vec<String>,
}

impl Names {
    /// The export that an import of this name can be given.
    fn export(&self, import: &String) -> Option<&String> {
        let same = self.exports.iter().find(|export| *export == import);
        same.or_else(|| {
            let mut exports = self.exports.iter();
            exports.find(|export| are_semver_compatible(export, import))
        })
    }
}

fn instance(graph: &mut CompositionGraph, role: &str, bytes: &[u8]) -> Result<(NodeId, Names)> {
    let package = Package::from_bytes(role, None, bytes, graph.types_mut())
        .map_err(|error| format!("the {role} is no component: {error:#}"))?;
    let world = &graph.types()[package.ty()];
    let names = Names {
        imports: world.imports.keys().cloned().collect(),
        exports: world.exports.keys().cloned().collect(),
    };
    let package = graph.register_package(package).map_err(told)?;
    Ok((graph.instantiate(package), names))
}

fn told(error: impl Display) -> String {
    format!("the components do not fit together: {error:#}")
}
