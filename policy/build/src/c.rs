//! Compiling the policy that is written in C, in `policy/c`.
//!
//! The compiler is clang as Zig brings it, with a C library for WebAssembly: one Python package for
//! every machine, which `make setup` installs. The bindings are made of `wit/` at each build, and
//! kept nowhere else than beside what is built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use wit_bindgen_core::{Files, wit_parser::Resolve};

use crate::toolchain::cache_folder;
use crate::{Place, Result, carried, component};

/// The name of the file that it is kept in.
pub const FILE: &str = "fusewire_policy_c.wasm";

/// What the names in the bindings begin with, and the name of their files.
const NAME: &str = "fusewire";

/// The interfaces of the contract, which the bindings call by these short names.
const INTERFACES: [&str; 5] = ["keyvalue", "lifecycle", "classifier", "breaker", "planner"];

/// What the policy's own sources are compiled with beyond what all are: they have to be free of
/// whatever the compiler can complain of.
const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

const FLAGS: [&str; 6] = [
    "--target=wasm32-wasi",
    "-std=c17",
    "-Oz",
    // What C leaves undefined is a trap, which costs one call, instead of anything else.
    "-fsanitize=undefined",
    "-fsanitize-trap=undefined",
    "-c",
];

const LINKED: [&str; 5] = [
    "--target=wasm32-wasi",
    // A library with exports, not a program with a `main`.
    "-mexec-model=reactor",
    "-Oz",
    // 128 KiB; the linker puts it below everything else, so that one that grows too large traps.
    "-Wl,-z,stack-size=131072",
    "-Wl,--strip-all",
];

/// Tells cargo, where a build script is running, what the policy is made of.
pub fn depends_on(place: &Place) {
    for input in ["wit", "policy/c"] {
        place.say("rerun-if-changed", &place.workspace.join(input).display());
    }
}

/// Compiles the policy, and makes a component of it.
///
/// # Errors
/// It does not compile, or imports what no policy may.
pub fn policy(place: &Place, compiler: &Compiler) -> Result<Vec<u8>> {
    let work = place.target_directory.join("c-policy");
    let bindings = work.join("bindings");
    make_bindings(&place.workspace.join("wit"), &bindings)?;

    let mut objects = vec![bindings.join(format!("{NAME}_component_type.o"))];
    let mut compile = |source: &Path, strict: &[&str]| {
        let name = source.file_stem().unwrap_or_default();
        let object = work.join(name).with_extension("o");
        let mut command = compiler.command();
        command.args(FLAGS).args(strict).arg("-I").arg(&bindings);
        let ran = run(command.arg(source).arg("-o").arg(&object));
        objects.push(object);
        ran
    };
    compile(&bindings.join(format!("{NAME}.c")), &[])?;
    for source in sources(&place.workspace.join("policy/c/src"))? {
        compile(&source, &STRICT)?;
    }
    let module = work.join("policy.wasm");
    run(compiler
        .command()
        .args(LINKED)
        .args(&objects)
        .arg("-o")
        .arg(&module))?;
    let component = component::encode(&read(&module)?)?;
    component::check_policy(&component)?;
    carried::pack_all(place, &["policy/c/scenarios"], &component)
}

/// A compiler of C for WebAssembly.
pub struct Compiler {
    program: PathBuf,
    /// Where it keeps the C library once that is compiled.
    cache: PathBuf,
}

impl Compiler {
    /// The one that `make setup` has installed.
    ///
    /// # Errors
    /// It is not there: how to get it.
    pub fn find(place: &Place) -> Result<Self> {
        let python = cache_folder(place)?.join("python");
        let program = fs::read_dir(python.join("lib"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|version| version.path().join("site-packages/ziglang/zig"))
            .find(|program| program.is_file())
            .ok_or_else(|| {
                format!(
                    "policy/c is compiled by clang as the Python package ziglang brings it, and that \
                     is not in {}: `make setup` installs it",
                    python.display()
                )
            })?;
        place.say("rerun-if-changed", &program.display());
        Ok(Self {
            program,
            cache: place.target_directory.join("zig"),
        })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        // Flags of whoever builds are for another machine than WebAssembly's.
        for name in ["CFLAGS", "CPATH", "C_INCLUDE_PATH", "LDFLAGS"] {
            command.env_remove(name);
        }
        command
            .env("ZIG_GLOBAL_CACHE_DIR", &self.cache)
            .env("ZIG_LOCAL_CACHE_DIR", &self.cache)
            .arg("cc");
        command
    }
}

/// Writes the header and the source of the bindings, and an object with the types of the component.
fn make_bindings(wit: &Path, folder: &Path) -> Result<()> {
    let failed = |error| format!("no bindings for C: {error:#}");
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(wit).map_err(failed)?;
    let world = resolve
        .select_world(&[package], Some("policy"))
        .map_err(failed)?;
    let short = INTERFACES.iter().filter_map(|interface| {
        let id = resolve.packages[package].interfaces.get(*interface)?;
        Some((resolve.id_of(*id)?, (*interface).to_owned()))
    });
    let options = wit_bindgen_c::Opts {
        rename: short.collect(),
        rename_world: Some(NAME.to_owned()),
        ..wit_bindgen_c::Opts::default()
    };
    let mut files = Files::default();
    options
        .build()
        .generate(&mut resolve, world, &mut files)
        .map_err(failed)?;
    fs::create_dir_all(folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    for (name, bytes) in files.iter() {
        crate::write(&folder.join(name), bytes)?;
    }
    Ok(())
}

/// The files with C in a folder, in order of their names.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)
        .map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut sources: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "c"))
        .collect();
    sources.sort();
    Ok(sources)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn run(command: &mut Command) -> Result<()> {
    let output = command
        .output()
        .map_err(|error| format!("cannot run {}: {error}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "policy/c does not compile:\n{}",
        String::from_utf8_lossy(&output.stderr)
    ))
}
