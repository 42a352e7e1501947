//! What the filter asks of Envoy, and the ABI's numbers.
//!
//! Every question may be answered with any [`Status`]: there is no call here that cannot fail, and
//! no number that a host could answer with that is not a value of the type.

use crate::store::SharedData;

/// How a host call ended, where it did not succeed: the ABI's number, whichever it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(pub u32);

impl Status {
    /// There is no such header, property, key.
    pub const NOT_FOUND: Self = Self(1);
    /// A header was too long, a number out of range, a name not known.
    pub const BAD_ARGUMENT: Self = Self(2);
    /// The shared value has changed since it was read.
    pub const CAS_MISMATCH: Self = Self(8);
    /// A fault of the host; also what a call answers that the configuration does not allow.
    pub const INTERNAL_FAILURE: Self = Self(10);
    /// The host named memory that it was not given. Not a number of the ABI.
    pub const NOT_OURS: Self = Self(u32::MAX);
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::NOT_FOUND => f.write_str("not found"),
            Self::BAD_ARGUMENT => f.write_str("bad argument"),
            Self::CAS_MISMATCH => f.write_str("changed meanwhile"),
            Self::INTERNAL_FAILURE => f.write_str("failed inside, or not allowed"),
            Self::NOT_OURS => f.write_str("answered with memory that is not ours"),
            Self(number) => write!(f, "status {number}"),
        }
    }
}

/// How much a line in the log matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// For those who look closely.
    Debug,
    /// Something changed.
    Info,
    /// Something changed for the worse.
    Warn,
    /// Somebody has to do something.
    Error,
}

/// A list of header fields. The numbers are the ABI's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs, reason = "each is what its name says")]
pub enum Map {
    RequestHeaders = 0,
    RequestTrailers = 1,
    ResponseHeaders = 2,
    ResponseTrailers = 3,
    CallHeaders = 6,
}

/// A run of bytes. The numbers are the ABI's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs, reason = "each is what its name says")]
pub enum Buffer {
    RequestBody = 0,
    ResponseBody = 1,
    CallBody = 4,
    Configuration = 7,
}

/// A kind of metric. The numbers are the ABI's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs, reason = "each is what its name says")]
pub enum MetricKind {
    Counter = 0,
    Gauge = 1,
}

/// Whether the request goes on. The numbers are the ABI's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Action {
    /// It goes on.
    Continue = 0,
    /// It stops here: it was answered, or its body is awaited.
    Pause = 1,
}

/// A call to a cluster of Envoy's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call<'a> {
    /// The cluster.
    pub cluster: &'a str,
    /// Its header fields, pseudo-headers included.
    pub headers: &'a [(&'a str, &'a str)],
    /// Its body.
    pub body: &'a [u8],
    /// How long the answer is waited for, in ms.
    pub timeout_ms: u32,
}

/// An answer of the filter's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalResponse {
    /// The HTTP status.
    pub status: u32,
    /// Envoy's response code details.
    pub details: String,
    /// The header fields.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Envoy, as the filter sees it.
///
/// Properties are named by their path, its parts joined by NUL, as the ABI wants them.
///
/// # Errors
/// Every method: the host's own status, whatever it is.
#[allow(clippy::missing_errors_doc, reason = "said once, above")]
pub trait Host: SharedData {
    /// Writes a line to Envoy's log. Where that fails there is nobody to tell.
    fn log(&self, level: Level, line: &str);

    /// The present time, in ns since the Unix epoch.
    fn now_ns(&self) -> Result<u64, Status>;

    /// A property that is a text; `None` where there is none. What is not UTF-8 in a text is replaced.
    fn property(&self, path: &str) -> Result<Option<String>, Status>;

    /// A property that is a whole number; `None` where there is none.
    fn number(&self, path: &str) -> Result<Option<u64>, Status>;

    /// The value of a header field; `None` where there is none.
    fn header(&self, map: Map, name: &str) -> Result<Option<String>, Status>;

    /// All header fields, as [`pairs`](crate::pairs) reads them.
    fn header_pairs(&self, map: Map) -> Result<Vec<u8>, Status>;

    /// Adds a header field.
    fn add_header(&self, map: Map, name: &str, value: &str) -> Result<(), Status>;

    /// Sets a header field in the place of any that has its name.
    fn set_header(&self, map: Map, name: &str, value: &str) -> Result<(), Status>;

    /// At most `max` bytes of a buffer from `start` on.
    fn buffer(&self, buffer: Buffer, start: u32, max: u32) -> Result<Vec<u8>, Status>;

    /// Answers the request.
    fn respond(&self, response: &LocalResponse) -> Result<(), Status>;

    /// Starts a call, and answers its token.
    fn call(&self, call: &Call<'_>) -> Result<u32, Status>;

    /// Asks for a tick every so often, in ms.
    fn tick_every(&self, ms: u32) -> Result<(), Status>;

    /// Defines a metric, and answers its id.
    fn define_metric(&self, kind: MetricKind, name: &str) -> Result<u32, Status>;

    /// Raises a counter.
    fn add_to_metric(&self, id: u32, by: i64) -> Result<(), Status>;

    /// Sets a gauge.
    fn set_metric(&self, id: u32, to: u64) -> Result<(), Status>;
}
