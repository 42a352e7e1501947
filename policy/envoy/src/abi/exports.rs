//! The functions that Envoy calls.
//!
//! Envoy runs a VM on one thread and never calls into it from within its own functions, but for
//! `proxy_on_memory_allocate`, which does not come here. Were it otherwise, the callback would find
//! the VM in use, and answer what lets the request through.

use std::cell::RefCell;

use super::imports::Envoy;
use super::memory;
use crate::host::Action;
use crate::vm::Vm;

thread_local! {
    static VM: RefCell<Vm<Envoy>> = RefCell::new(Vm::new(Envoy));
}

fn with<T>(otherwise: T, callback: impl FnOnce(&mut Vm<Envoy>) -> T) -> T {
    VM.with(|vm| match vm.try_borrow_mut() {
        Ok(mut vm) => callback(&mut vm),
        Err(_) => otherwise,
    })
}

/// Says which version of the ABI this is, by its name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn proxy_abi_version_0_2_1() {}

/// Lends Envoy memory for an answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn proxy_on_memory_allocate(size: usize) -> *mut u8 {
    memory::lend(size)
}

/// A configuration or a request begins.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn proxy_on_context_create(context: u32, parent: u32) {
    with((), |vm| vm.on_context_create(context, parent));
}

/// A VM begins. Everything is set up in `proxy_on_configure`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn proxy_on_vm_start(_context: u32, _size: usize) -> u32 {
    1
}

/// A configuration is to be put in force; zero refuses it.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn proxy_on_configure(context: u32, size: usize) -> u32 {
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    with(false, |vm| vm.on_configure(context, size)).into()
}

/// Time has passed.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn proxy_on_tick(context: u32) {
    with((), |vm| vm.on_tick(context));
}

/// A request has come.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn proxy_on_request_headers(context: u32, _fields: usize, end: u32) -> u32 {
    with(Action::Continue, |vm| {
        vm.on_request_headers(context, end != 0)
    })
    .into()
}

/// More of a request has come.
#[cfg(feature = "drive")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn proxy_on_request_body(context: u32, _size: usize, end: u32) -> u32 {
    with(Action::Continue, |vm| vm.on_request_body(context, end != 0)).into()
}

/// An answer begins.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn proxy_on_response_headers(context: u32, _fields: usize, end: u32) -> u32 {
    with((), |vm| vm.on_response_headers(context, end != 0));
    Action::Continue.into()
}

/// More of an answer has come.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn proxy_on_response_body(context: u32, size: usize, end: u32) -> u32 {
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    with((), |vm| vm.on_response_body(context, size, end != 0));
    Action::Continue.into()
}

/// An answer ends with trailers.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn proxy_on_response_trailers(context: u32, _fields: usize) -> u32 {
    with((), |vm| vm.on_response_trailers(context));
    Action::Continue.into()
}

/// A call of the filter's own was answered, or was not.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn proxy_on_http_call_response(
    context: u32,
    token: u32,
    fields: usize,
    size: usize,
    _trailers: usize,
) {
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    with((), |vm| {
        vm.on_call_response(context, token, fields > 0, size)
    });
}

/// A request has ended, and everything about it is known.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn proxy_on_log(context: u32) {
    with((), |vm| vm.on_log(context));
}

/// A request, or a configuration, is over.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn proxy_on_delete(context: u32) {
    with((), |vm| vm.on_delete(context));
}
