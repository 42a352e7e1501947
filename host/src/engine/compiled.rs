//! A component on its way to an engine: compiled, and then started.

use std::sync::Arc;

use fusewire_core::Description;
use wasmtime::component::{Component, HasSelf, InstancePre, Linker};

use super::component::{ComponentEngine, Limits};
use super::imports::HostState;
use super::instance::{Places, bindings};
use super::runtime::Runtime;
use super::{LoadError, contract};

/// A component that has been compiled and fits the contract. Nothing of it has run yet. Cheap to
/// clone; the code is freed with the last clone.
#[derive(Clone)]
pub struct Compiled {
    pub(super) runtime: Arc<Runtime>,
    pub(super) pre: InstancePre<HostState>,
    pub(super) places: Arc<Places>,
}

impl Compiled {
    /// Compiles a component, and checks that it has the exports of the contract, each optional one in
    /// the contract's shape where it is there, and no import beyond it. Takes a good part of a second,
    /// and the calling thread.
    ///
    /// # Errors
    /// [`LoadError::Component`], [`LoadError::Contract`] or [`LoadError::Import`].
    pub fn new(bytes: &[u8]) -> Result<Self, LoadError> {
        let runtime = Runtime::shared()?;
        let component = Component::new(&runtime.wasmtime, bytes).map_err(component_error)?;
        Self::link(runtime, &component)
    }

    /// What was compiled before, by this very build of this host on such a machine, as
    /// [`Self::code`] gave it. Takes a millisecond.
    ///
    /// # Errors
    /// [`LoadError::Component`]: it is from another build or for another machine. Otherwise as
    /// [`Self::new`].
    ///
    /// # Safety
    /// The bytes must be what [`Self::code`] gave, unchanged: they hold machine code, and are run
    /// as they are.
    pub unsafe fn from_code(code: &[u8]) -> Result<Self, LoadError> {
        let runtime = Runtime::shared()?;
        // SAFETY: the caller's promise.
        let component = unsafe { Component::deserialize(&runtime.wasmtime, code) };
        Self::link(runtime, &component.map_err(component_error)?)
    }

    /// The machine code that it was compiled to, for [`Self::from_code`].
    ///
    /// # Errors
    /// [`LoadError::Component`]: wasmtime cannot tell.
    pub fn code(&self) -> Result<Vec<u8>, LoadError> {
        self.pre.component().serialize().map_err(component_error)
    }

    fn link(runtime: Arc<Runtime>, component: &Component) -> Result<Self, LoadError> {
        let wasmtime = &runtime.wasmtime;
        let types = component.component_type();
        contract::check(
            types.imports(wasmtime).map(|(name, _)| name),
            types.exports(wasmtime).map(|(name, _)| name),
        )?;
        let mut linker = Linker::new(wasmtime);
        bindings::Policy3::add_to_linker::<_, HasSelf<HostState>>(&mut linker, |state| state)
            .map_err(component_error)?;
        let pre = linker.instantiate_pre(component).map_err(component_error)?;
        let has = |interface: &str| {
            let mut exports = types.exports(wasmtime);
            exports.any(|(name, _)| contract::names(name, interface))
        };
        let places = Arc::new(Places::find(&pre, has).map_err(component_error)?);
        Ok(Self {
            runtime,
            pre,
            places,
        })
    }

    /// Starts a first instance, and asks the policy who it is.
    ///
    /// # Errors
    /// [`LoadError::Setup`]: it does not come through that within its limits.
    pub fn start(self, limits: Limits) -> Result<Started, LoadError> {
        let description = ComponentEngine::who_is(&self, limits)?;
        Ok(Started {
            compiled: self,
            limits,
            description,
        })
    }
}

/// A policy that has started and said who it is, and is to be configured.
pub struct Started {
    pub(super) compiled: Compiled,
    pub(super) limits: Limits,
    pub(super) description: Description,
}

impl Started {
    /// Who it is.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The policy with a configuration, ready to be asked.
    ///
    /// # Errors
    /// [`LoadError::Configuration`]: it does not accept it; [`LoadError::Setup`]: it fails.
    pub fn configured(self, configuration: &str) -> Result<ComponentEngine, LoadError> {
        ComponentEngine::begin(self, configuration)
    }
}

pub(super) fn component_error(error: wasmtime::Error) -> LoadError {
    LoadError::Component(format!("{error:#}"))
}
