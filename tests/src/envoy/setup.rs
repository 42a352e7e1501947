//! What an Envoy is started with.
//!
//! The configuration is written as JSON, which Envoy reads like YAML. Envoy chooses the ports and
//! tells them through its admin interface.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The filter, as `policy/envoy` builds it.
pub const FUSEWIRE: &str = env!("FUSEWIRE_ENVOY_WASM");

/// The same with a door for tests.
const DRIVE: &str = env!("FUSEWIRE_ENVOY_DRIVE_WASM");

/// A filter that lets everything through.
pub const EMPTY: &str = env!("FUSEWIRE_EMPTY_FILTER_WASM");

/// The name of the one listener.
pub(super) const LISTENER: &str = "main";

/// The name of the filter, where it is sent as a resource of its own.
const FILTER: &str = "fusewire";

/// An outside service behind Envoy: a cluster, and the route `/NAME` to it.
#[derive(Debug, Clone)]
pub struct Provider {
    name: String,
    address: SocketAddr,
    route: Value,
    cluster: Value,
}

impl Provider {
    /// A service of this name, at this address.
    #[must_use]
    pub fn new(name: &str, address: SocketAddr) -> Self {
        Self {
            name: name.into(),
            address,
            route: json!({}),
            cluster: json!({}),
        }
    }

    /// Fields of its route action besides the cluster, such as `timeout`.
    #[must_use]
    pub fn route(mut self, fields: Value) -> Self {
        self.route = fields;
        self
    }

    /// Fields of its cluster besides name, type and address, such as `circuit_breakers`.
    #[must_use]
    pub fn cluster(mut self, fields: Value) -> Self {
        self.cluster = fields;
        self
    }

    /// A service that speaks HTTP/2.
    #[must_use]
    pub fn http2(self) -> Self {
        let options = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
        self.cluster(json!({"typed_extension_protocol_options": {options: {
            "@type": format!("type.googleapis.com/{options}"),
            "explicit_http_config": {"http2_protocol_options": {}},
        }}}))
    }

    /// A service that is spoken to over TLS.
    #[must_use]
    pub fn tls(self) -> Self {
        let context =
            "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext";
        self.cluster(json!({"transport_socket": {
            "name": "envoy.transport_sockets.tls",
            "typed_config": {"@type": context},
        }}))
    }

    fn to_route(&self) -> Value {
        let action = with(json!({"cluster": self.name}), &self.route);
        json!({
            "name": format!("route-{}", self.name),
            "match": {"path_separated_prefix": format!("/{}", self.name)},
            "route": action,
        })
    }

    fn to_cluster(&self) -> Value {
        let endpoint = json!({"endpoint": {"address": socket(self.address)}});
        let cluster = json!({
            "name": self.name,
            "type": "STATIC",
            "connect_timeout": "2s",
            "load_assignment": {
                "cluster_name": self.name,
                "endpoints": [{"lb_endpoints": [endpoint]}],
            },
        });
        with(cluster, &self.cluster)
    }
}

/// A WebAssembly filter and its configuration.
#[derive(Debug, Clone)]
pub struct Filter {
    wasm: PathBuf,
    configuration: String,
    /// Whether it reads a request's body before it answers, so that its pause at the head must not
    /// stop the body as well.
    reads_bodies: bool,
}

impl Filter {
    /// Fusewire's, with this configuration.
    #[must_use]
    pub fn fusewire(configuration: &Value) -> Self {
        Self::of(FUSEWIRE, &configuration.to_string())
    }

    /// Fusewire's with a door through which scenarios are played.
    #[must_use]
    pub fn drive() -> Self {
        Self {
            reads_bodies: true,
            ..Self::of(DRIVE, "{}")
        }
    }

    /// The one in this file, with this text as its configuration.
    #[must_use]
    pub fn of(wasm: impl Into<PathBuf>, configuration: &str) -> Self {
        Self {
            wasm: wasm.into(),
            configuration: configuration.into(),
            reads_bodies: false,
        }
    }

    fn to_typed(&self) -> Value {
        json!({
            "@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
            "config": {
                "name": FILTER,
                "failure_policy": "FAIL_RELOAD",
                "allow_on_headers_stop_iteration": self.reads_bodies,
                "configuration": {
                    "@type": "type.googleapis.com/google.protobuf.StringValue",
                    "value": self.configuration,
                },
                "vm_config": {
                    // What is shared between workers, and kept over an update, is kept under this.
                    "vm_id": FILTER,
                    "runtime": "envoy.wasm.runtime.v8",
                    "code": {"local": {"filename": self.wasm}},
                },
            },
        })
    }
}

/// How Envoy is told of a filter that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Updates {
    /// Not at all.
    Never,
    /// By a file with the listener: its connections are drained.
    Listener,
    /// By a file with the filter: connections stay.
    Filter,
}

/// What an Envoy is started with.
#[derive(Debug, Clone)]
pub struct Setup {
    providers: Vec<Provider>,
    filter: Option<Filter>,
    /// Filters of Envoy's own between that one and the router.
    behind: Vec<Value>,
    routes: Vec<Value>,
    /// How it is told of changes.
    pub(super) updates: Updates,
    workers: u32,
}

impl Setup {
    /// Two workers, and no filter.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            providers: Vec::new(),
            filter: None,
            behind: Vec::new(),
            routes: Vec::new(),
            updates: Updates::Never,
            workers: 2,
        }
    }

    /// Two workers with this filter.
    #[must_use]
    pub fn with(filter: Filter) -> Self {
        Self {
            filter: Some(filter),
            ..Self::plain()
        }
    }

    /// Two workers with Fusewire's filter, configured so.
    #[must_use]
    pub fn fusewire(configuration: &Value) -> Self {
        Self::with(Filter::fusewire(configuration))
    }

    /// With this service behind it.
    #[must_use]
    pub fn provider(mut self, provider: Provider) -> Self {
        self.providers.push(provider);
        self
    }

    /// With this filter of Envoy's own between the first one and the router, so that an answer passes
    /// it before.
    #[must_use]
    pub fn behind(mut self, filter: Value) -> Self {
        self.behind.push(filter);
        self
    }

    /// With this route before those of the providers.
    #[must_use]
    pub fn route(mut self, route: Value) -> Self {
        self.routes.push(route);
        self
    }

    /// With changes told so.
    #[must_use]
    pub fn updates(mut self, updates: Updates) -> Self {
        self.updates = updates;
        self
    }

    /// With so many workers.
    #[must_use]
    pub fn workers(mut self, workers: u32) -> Self {
        self.workers = workers;
        self
    }

    /// How many workers it has.
    #[must_use]
    pub fn worker_count(&self) -> u32 {
        self.workers
    }

    /// The same with another filter.
    #[must_use]
    pub fn replaced(&self, filter: Filter) -> Self {
        Self {
            filter: Some(filter),
            ..self.clone()
        }
    }

    /// The file that Envoy is started with.
    pub(super) fn bootstrap(&self, home: &Path) -> Value {
        let clusters: Vec<Value> = self.providers.iter().map(Provider::to_cluster).collect();
        let mut bootstrap = json!({
            "node": {"id": "test", "cluster": "test"},
            "admin": {"address": socket(SocketAddr::from(([127, 0, 0, 1], 0)))},
            "static_resources": {"clusters": clusters},
        });
        if self.updates == Updates::Listener {
            bootstrap["dynamic_resources"] = json!({
                "lds_config": watched(&home.join("resource.json")),
            });
        } else {
            bootstrap["static_resources"]["listeners"] = json!([self.listener(home)]);
        }
        bootstrap
    }

    /// The file that is watched, where one is.
    pub(super) fn resource(&self, home: &Path) -> Option<Value> {
        let resource = match self.updates {
            Updates::Never => return None,
            Updates::Listener => with(
                json!({"@type": "type.googleapis.com/envoy.config.listener.v3.Listener"}),
                &self.listener(home),
            ),
            Updates::Filter => json!({
                "@type": "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
                "name": FILTER,
                "typed_config": self.filter.as_ref().map(Filter::to_typed),
            }),
        };
        Some(json!({"resources": [resource]}))
    }

    fn listener(&self, home: &Path) -> Value {
        let mut filters: Vec<Value> = self.filter.iter().map(|f| self.filter(f, home)).collect();
        filters.extend(self.behind.iter().cloned());
        filters.push(json!({
            "name": "envoy.filters.http.router",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router",
            },
        }));
        let mut routes = self.routes.clone();
        routes.extend(self.providers.iter().map(Provider::to_route));
        let manager = json!({
            "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": "main",
            "access_log": [access_log(&home.join("access.log"))],
            "route_config": {
                "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}],
            },
            "http_filters": filters,
        });
        json!({
            "name": LISTENER,
            "address": socket(SocketAddr::from(([127, 0, 0, 1], 0))),
            "filter_chains": [{"filters": [{
                "name": "envoy.filters.network.http_connection_manager",
                "typed_config": manager,
            }]}],
        })
    }

    fn filter(&self, filter: &Filter, home: &Path) -> Value {
        if self.updates != Updates::Filter {
            return json!({"name": FILTER, "typed_config": filter.to_typed()});
        }
        json!({"name": FILTER, "config_discovery": {
            "config_source": watched(&home.join("resource.json")),
            "type_urls": ["type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm"],
        }})
    }
}

/// A line for each stream, as a JSON object.
fn access_log(path: &Path) -> Value {
    json!({
        "name": "envoy.access_loggers.file",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog",
            "path": path,
            "log_format": {"json_format": {
                "path": "%REQ(:PATH)%",
                "code": "%RESPONSE_CODE%",
                "flags": "%RESPONSE_FLAGS%",
                "details": "%RESPONSE_CODE_DETAILS%",
            }},
        },
    })
}

fn watched(path: &Path) -> Value {
    json!({"path_config_source": {"path": path}})
}

fn socket(address: SocketAddr) -> Value {
    json!({"socket_address": {
        "address": address.ip().to_string(),
        "port_value": address.port(),
    }})
}

/// An object with these fields more, or instead.
fn with(mut object: Value, fields: &Value) -> Value {
    for (name, value) in fields.as_object().into_iter().flatten() {
        object[name] = value.clone();
    }
    object
}
