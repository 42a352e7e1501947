//! Envoy's functions. Each is called here once, and answers a `Result`.

use super::memory;
use crate::host::{Action, Buffer, Call, Host, Level, LocalResponse, Map, MetricKind, Status};
use crate::pairs::{self, lossy};
use crate::store::SharedData;

mod raw {
    #[link(wasm_import_module = "env")]
    unsafe extern "C" {
        pub(super) fn proxy_log(level: u32, text: *const u8, size: usize) -> u32;
        pub(super) fn proxy_get_current_time_nanoseconds(time: *mut u64) -> u32;
        pub(super) fn proxy_get_property(
            path: *const u8,
            path_size: usize,
            value: *mut *const u8,
            value_size: *mut usize,
        ) -> u32;
        pub(super) fn proxy_get_header_map_value(
            map: u32,
            name: *const u8,
            name_size: usize,
            value: *mut *const u8,
            value_size: *mut usize,
        ) -> u32;
        pub(super) fn proxy_get_header_map_pairs(
            map: u32,
            value: *mut *const u8,
            value_size: *mut usize,
        ) -> u32;
        pub(super) fn proxy_add_header_map_value(
            map: u32,
            name: *const u8,
            name_size: usize,
            value: *const u8,
            value_size: usize,
        ) -> u32;
        pub(super) fn proxy_replace_header_map_value(
            map: u32,
            name: *const u8,
            name_size: usize,
            value: *const u8,
            value_size: usize,
        ) -> u32;
        pub(super) fn proxy_get_buffer_bytes(
            buffer: u32,
            start: u32,
            max: u32,
            value: *mut *const u8,
            value_size: *mut usize,
        ) -> u32;
        pub(super) fn proxy_get_shared_data(
            key: *const u8,
            key_size: usize,
            value: *mut *const u8,
            value_size: *mut usize,
            cas: *mut u32,
        ) -> u32;
        pub(super) fn proxy_set_shared_data(
            key: *const u8,
            key_size: usize,
            value: *const u8,
            value_size: usize,
            cas: u32,
        ) -> u32;
        pub(super) fn proxy_send_local_response(
            status: u32,
            details: *const u8,
            details_size: usize,
            body: *const u8,
            body_size: usize,
            headers: *const u8,
            headers_size: usize,
            grpc_status: i32,
        ) -> u32;
        pub(super) fn proxy_http_call(
            upstream: *const u8,
            upstream_size: usize,
            headers: *const u8,
            headers_size: usize,
            body: *const u8,
            body_size: usize,
            trailers: *const u8,
            trailers_size: usize,
            timeout_ms: u32,
            token: *mut u32,
        ) -> u32;
        pub(super) fn proxy_set_tick_period_milliseconds(ms: u32) -> u32;
        pub(super) fn proxy_define_metric(
            kind: u32,
            name: *const u8,
            name_size: usize,
            id: *mut u32,
        ) -> u32;
        pub(super) fn proxy_increment_metric(id: u32, by: i64) -> u32;
        pub(super) fn proxy_record_metric(id: u32, to: u64) -> u32;
    }
}

/// Envoy, over the ABI.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Envoy;

fn done(status: u32) -> Result<(), Status> {
    if status == 0 {
        Ok(())
    } else {
        Err(Status(status))
    }
}

/// Calls a function that answers with bytes, and reads them.
fn answer_of<T>(
    call: impl FnOnce(*mut *const u8, *mut usize) -> u32,
    read: impl FnOnce(&[u8]) -> T,
) -> Result<T, Status> {
    let mut address = std::ptr::null();
    let mut size = 0;
    let answered = done(call(&mut address, &mut size));
    match answered {
        Ok(()) => memory::read(address, size, read),
        Err(status) => {
            memory::reclaim();
            Err(status)
        }
    }
}

fn found<T>(answer: Result<T, Status>) -> Result<Option<T>, Status> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(Status::NOT_FOUND) => Ok(None),
        Err(status) => Err(status),
    }
}

/// Reads a property.
fn property<T>(path: &str, read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Status> {
    let call = |value, size| {
        // SAFETY: see below.
        unsafe { raw::proxy_get_property(path.as_ptr(), path.len(), value, size) }
    };
    found(answer_of(call, read))
}

// In each block below the pointers are of live values, with their own lengths, and Envoy neither
// writes to what is `const` nor keeps any of them past the call; what it answers with it has
// written into memory that `memory` lent it, and is checked there.

impl SharedData for Envoy {
    fn get(&self, key: &str) -> Result<Option<(Vec<u8>, u32)>, Status> {
        let mut cas = 0;
        let call = |value, size| {
            // SAFETY: see above.
            unsafe { raw::proxy_get_shared_data(key.as_ptr(), key.len(), value, size, &mut cas) }
        };
        let value = found(answer_of(call, <[u8]>::to_vec))?;
        Ok(value.map(|value| (value, cas)))
    }

    fn set(&self, key: &str, value: &[u8], cas: u32) -> Result<(), Status> {
        // SAFETY: see above.
        done(unsafe {
            raw::proxy_set_shared_data(key.as_ptr(), key.len(), value.as_ptr(), value.len(), cas)
        })
    }
}

impl Host for Envoy {
    fn log(&self, level: Level, line: &str) {
        let level = match level {
            Level::Debug => 1,
            Level::Info => 2,
            Level::Warn => 3,
            Level::Error => 4,
        };
        // SAFETY: see above.
        let _ = unsafe { raw::proxy_log(level, line.as_ptr(), line.len()) };
    }

    fn now_ns(&self) -> Result<u64, Status> {
        let mut now = 0;
        // SAFETY: see above.
        done(unsafe { raw::proxy_get_current_time_nanoseconds(&mut now) })?;
        Ok(now)
    }

    fn property(&self, path: &str) -> Result<Option<String>, Status> {
        property(path, lossy)
    }

    fn number(&self, path: &str) -> Result<Option<u64>, Status> {
        let number = property(path, |bytes| bytes.try_into().map(u64::from_le_bytes))?;
        Ok(number.and_then(Result::ok))
    }

    fn header(&self, map: Map, name: &str) -> Result<Option<String>, Status> {
        let call = |value, size| {
            // SAFETY: see above.
            unsafe {
                raw::proxy_get_header_map_value(map as u32, name.as_ptr(), name.len(), value, size)
            }
        };
        found(answer_of(call, lossy))
    }

    fn header_pairs(&self, map: Map) -> Result<Vec<u8>, Status> {
        let call = |value, size| {
            // SAFETY: see above.
            unsafe { raw::proxy_get_header_map_pairs(map as u32, value, size) }
        };
        answer_of(call, <[u8]>::to_vec)
    }

    fn add_header(&self, map: Map, name: &str, value: &str) -> Result<(), Status> {
        // SAFETY: see above.
        done(unsafe {
            raw::proxy_add_header_map_value(
                map as u32,
                name.as_ptr(),
                name.len(),
                value.as_ptr(),
                value.len(),
            )
        })
    }

    fn set_header(&self, map: Map, name: &str, value: &str) -> Result<(), Status> {
        // SAFETY: see above.
        done(unsafe {
            raw::proxy_replace_header_map_value(
                map as u32,
                name.as_ptr(),
                name.len(),
                value.as_ptr(),
                value.len(),
            )
        })
    }

    fn buffer(&self, buffer: Buffer, start: u32, max: u32) -> Result<Vec<u8>, Status> {
        let call = |value, size| {
            // SAFETY: see above.
            unsafe { raw::proxy_get_buffer_bytes(buffer as u32, start, max, value, size) }
        };
        answer_of(call, <[u8]>::to_vec)
    }

    fn respond(&self, response: &LocalResponse) -> Result<(), Status> {
        /// The gRPC status is Envoy's to derive from the HTTP status.
        const NONE: i32 = -1;
        let headers = pairs::write(&response.headers);
        // SAFETY: see above.
        done(unsafe {
            raw::proxy_send_local_response(
                response.status,
                response.details.as_ptr(),
                response.details.len(),
                response.body.as_ptr(),
                response.body.len(),
                headers.as_ptr(),
                headers.len(),
                NONE,
            )
        })
    }

    fn call(&self, call: &Call<'_>) -> Result<u32, Status> {
        let headers = pairs::write(call.headers);
        let trailers = pairs::write::<&str, &str>(&[]);
        let mut token = 0;
        // SAFETY: see above.
        done(unsafe {
            raw::proxy_http_call(
                call.cluster.as_ptr(),
                call.cluster.len(),
                headers.as_ptr(),
                headers.len(),
                call.body.as_ptr(),
                call.body.len(),
                trailers.as_ptr(),
                trailers.len(),
                call.timeout_ms,
                &mut token,
            )
        })?;
        Ok(token)
    }

    fn tick_every(&self, ms: u32) -> Result<(), Status> {
        // SAFETY: no pointer.
        done(unsafe { raw::proxy_set_tick_period_milliseconds(ms) })
    }

    fn define_metric(&self, kind: MetricKind, name: &str) -> Result<u32, Status> {
        let mut id = 0;
        // SAFETY: see above.
        done(unsafe { raw::proxy_define_metric(kind as u32, name.as_ptr(), name.len(), &mut id) })?;
        Ok(id)
    }

    fn add_to_metric(&self, id: u32, by: i64) -> Result<(), Status> {
        // SAFETY: no pointer.
        done(unsafe { raw::proxy_increment_metric(id, by) })
    }

    fn set_metric(&self, id: u32, to: u64) -> Result<(), Status> {
        // SAFETY: no pointer.
        done(unsafe { raw::proxy_record_metric(id, to) })
    }
}

impl From<Action> for u32 {
    fn from(action: Action) -> Self {
        action as Self
    }
}
