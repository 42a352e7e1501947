//! Builds what of Fusewire is WebAssembly, each thing with the same compiler and profile.
//!
//! | module | what it does |
//! |---|---|
//! | [`artefact`] | what there is to build |
//! | [`place`] | where: the workspace, its target directory, the tools of the build under way |
//! | `toolchain` | finds a compiler that can build for WebAssembly |
//! | `compile` | runs cargo with it, apart from the build that is under way |
//! | `component` | turns a core module into a component, and holds a policy to its promises |
//! | `carried` | packs scenarios into a policy |
//! | `plug` | with the feature `plug`: plugs components into one another |
//! | `composition` | likewise: what is plugged together of the artefacts |
//! | `c` | with the feature `c`: compiles the policy that is written in C |
//!
//! Build scripts use the library: `host/build.rs` for the policy that the host carries, and
//! `tests/build.rs` for what the tests run elsewhere. The command `fusewire-build` writes all that
//! is shipped into the target directory.

pub mod artefact;
#[cfg(feature = "c")]
pub mod c;
mod carried;
mod compile;
mod component;
#[cfg(feature = "plug")]
pub mod composition;
pub mod place;
#[cfg(feature = "plug")]
pub mod plug;
mod toolchain;

use std::fs;
use std::path::Path;

pub use self::artefact::Artefact;
#[cfg(feature = "plug")]
pub use self::composition::Composition;
pub use self::place::Place;

/// The target that everything here is compiled for.
const TARGET: &str = "wasm32-unknown-unknown";

/// An error is a text for the person who builds: nothing here can be handled by a program.
pub type Result<T> = std::result::Result<T, String>;

/// Something that builds [`Artefact`]s.
pub struct Builder {
    place: Place,
    toolchain: toolchain::Toolchain,
}

impl Builder {
    /// A builder at this place.
    ///
    /// # Errors
    /// There is no compiler for WebAssembly: the text names the ways to get one.
    pub fn new(place: Place) -> Result<Self> {
        let toolchain = toolchain::find(&place)?;
        Ok(Self { place, toolchain })
    }

    /// Where it builds.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Compiles an artefact, and makes of it what it is to be.
    ///
    /// # Errors
    /// It does not compile, or is not what it has to be.
    pub fn build(&self, artefact: Artefact) -> Result<Vec<u8>> {
        let module = compile::core_module(&self.place, &self.toolchain, artefact)?;
        match artefact {
            Artefact::Policy => {
                let component = component::encode(&module)?;
                component::check_policy(&component)?;
                carried::pack(&self.place, artefact, &component)
            }
            Artefact::Throttle => {
                carried::pack(&self.place, artefact, &component::encode(&module)?)
            }
            Artefact::First
            | Artefact::Hostile
            | Artefact::Ahead
            | Artefact::WasiKeyvalue
            | Artefact::WasiKeyvalueCas
            | Artefact::WasiKeyvalueDrive
            | Artefact::WasiGuard => component::encode(&module),
            Artefact::Envoy | Artefact::EnvoyDrive | Artefact::EmptyFilter => Ok(module),
        }
    }
}

/// Writes a file unless it has these bytes already: a new time of change would have all that
/// depends on it built again.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|found| found == bytes) {
        return Ok(());
    }
    fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
