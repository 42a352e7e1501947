//! Serving a `wasi:http` component as `wasmtime serve` does.
//!
//! With [`Server::start`] each request gets an instance of its own, and all share the contents of
//! `wasi:keyvalue`. With [`Server::start_with_one`] one instance serves one request after another on
//! wasmtime's own `wasi:keyvalue`, whose contents are that instance's: what `wasmtime serve` does
//! with `-S keyvalue` and a `--max-instance-reuse-count`.

use std::net::SocketAddr;
use std::ops::DerefMut;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, Store};
use wasmtime_wasi::WasiCtx;
use wasmtime_wasi_http::WasiHttpView;
use wasmtime_wasi_http::io::TokioIo;
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;
use wasmtime_wasi_http::p2::bindings::{Proxy, ProxyPre};
use wasmtime_wasi_http::p2::body::HyperOutgoingBody;

use super::keyvalue::Contents;
use super::state::State;

/// A server; it ends when this is dropped.
pub struct Server {
    address: SocketAddr,
    served: Arc<Served>,
    task: JoinHandle<()>,
}

/// What is served.
struct Served {
    pre: ProxyPre<State>,
    environment: Vec<(String, String)>,
    contents: Contents,
    instances: AtomicUsize,
    /// The one instance that serves all; none: each request gets one.
    one: Option<Arc<tokio::sync::Mutex<Instance>>>,
}

struct Instance {
    store: Store<State>,
    proxy: Proxy,
}

impl Server {
    /// Serves the component in this file on a free port, with an instance for each request.
    ///
    /// # Panics
    /// It does not run.
    pub async fn start(path: &str, environment: &[(&str, &str)], contents: &Contents) -> Self {
        Self::of(path.as_ref(), environment, contents, false).await
    }

    /// Serves the component in this file on a free port, with one instance for all requests.
    ///
    /// # Panics
    /// It does not run.
    pub async fn start_with_one(path: &str, environment: &[(&str, &str)]) -> Self {
        // These contents are not linked, and so never asked.
        Self::of(path.as_ref(), environment, &Contents::cas(), true).await
    }

    async fn of(
        path: &Path,
        environment: &[(&str, &str)],
        contents: &Contents,
        is_one: bool,
    ) -> Self {
        let pre = prepare(path, is_one);
        let pre = pre.unwrap_or_else(|error| panic!("{}: {error:#}", path.display()));
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut served = Served {
            pre,
            environment: environment.iter().map(own).collect(),
            contents: contents.clone(),
            instances: AtomicUsize::new(0),
            one: None,
        };
        if is_one {
            let instance = served.instance().await.expect("an instance");
            served.one = Some(Arc::new(tokio::sync::Mutex::new(instance)));
        }
        let served = Arc::new(served);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let task = tokio::spawn(accept(listener, Arc::clone(&served)));
        Self {
            address,
            served,
            task,
        }
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// How many instances it has made.
    #[must_use]
    pub fn instances(&self) -> usize {
        self.served.instances.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A component, whether it is for one instance, and what was made of it.
type Prepared = (PathBuf, bool, ProxyPre<State>);

/// Compiles the component in this file, unless that was done before.
fn prepare(path: &Path, is_one: bool) -> wasmtime::Result<ProxyPre<State>> {
    static PREPARED: Mutex<Vec<Prepared>> = Mutex::new(Vec::new());
    let mut prepared = PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = prepared
        .iter()
        .find(|(of, one, _)| of == path && *one == is_one);
    if let Some((_, _, pre)) = known {
        return Ok(pre.clone());
    }
    let engine = Engine::default();
    let component = Component::from_file(&engine, path)?;
    let mut linker = Linker::new(&engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    if is_one {
        State::link_own_keyvalue(&mut linker)?;
    } else {
        Contents::add_to_linker(&mut linker)?;
    }
    let pre = ProxyPre::new(linker.instantiate_pre(&component)?)?;
    prepared.push((path.to_path_buf(), is_one, pre.clone()));
    Ok(pre)
}

/// Connections end with the server: the set of their tasks is dropped with this one.
async fn accept(listener: TcpListener, served: Arc<Served>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(connection(stream, Arc::clone(&served)));
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(stream: TcpStream, served: Arc<Served>) {
    let service = service_fn(move |request| {
        let served = Arc::clone(&served);
        async move { served.answer(request).await }
    });
    // A caller who goes away is no fault of the server's.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

impl Served {
    async fn instance(&self) -> wasmtime::Result<Instance> {
        let wasi = WasiCtx::builder().envs(&self.environment).build();
        let state = State::new(wasi, self.contents.clone());
        let mut store = Store::new(self.pre.engine(), state);
        let proxy = self.pre.instantiate_async(&mut store).await?;
        self.instances.fetch_add(1, Ordering::Relaxed);
        Ok(Instance { store, proxy })
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
    ) -> wasmtime::Result<hyper::Response<HyperOutgoingBody>> {
        match &self.one {
            Some(one) => handle(Arc::clone(one).lock_owned().await, request).await,
            None => handle(Box::new(self.instance().await?), request).await,
        }
    }
}

async fn handle(
    mut instance: impl DerefMut<Target = Instance> + Send + 'static,
    request: Request<Incoming>,
) -> wasmtime::Result<hyper::Response<HyperOutgoingBody>> {
    let (sender, receiver) = oneshot::channel();
    let mut http = instance.store.data_mut().http();
    let request = http.new_incoming_request(Scheme::Http, request)?;
    let out = http.new_response_outparam(sender)?;
    // It goes on after the head was sent: with the body, and what it does after that.
    let task = tokio::spawn(async move {
        let Instance { store, proxy } = &mut *instance;
        let handler = proxy.wasi_http_incoming_handler();
        handler.call_handle(store, request, out).await
    });
    match receiver.await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => match task.await {
            Ok(Ok(())) => wasmtime::bail!("the component has set no response"),
            Ok(Err(error)) => {
                eprintln!("the component failed: {error:#}");
                Err(error)
            }
            Err(error) => Err(error.into()),
        },
    }
}
