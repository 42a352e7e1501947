//! What can be told of any bytes, without running them.

use fusewire_sections::scenarios;
use serde::Serialize;
use wasmparser::{Chunk, ComponentExternalKind, Encoding, Parser, Payload};

use super::Digest;

/// How many levels of components within components are looked into. Those that compilers make have
/// one or two.
const DEEPEST: usize = 16;

/// What kind of bytes they are, as far as their beginning says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A component: what a policy is.
    Component,
    /// A WIT package in binary form: types and no code.
    WitPackage,
    /// A core module, such as a compiler makes before it is made a component.
    CoreModule,
    /// WebAssembly in its text form.
    Text,
    /// Machine code.
    MachineCode,
    /// Compressed with gzip or zstd.
    Compressed,
    /// Nothing at all.
    Empty,
    /// Anything else.
    Unknown,
}

impl Kind {
    fn of(bytes: &[u8]) -> Self {
        let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        match bytes {
            [] => Self::Empty,
            [0, b'a', b's', b'm', version @ ..] => match version {
                [1, 0, 0, 0, ..] => Self::CoreModule,
                // Cut off within its version as well: it says the rest itself when it is read.
                _ => Self::Component,
            },
            [0x7f, b'E', b'L', b'F', ..] => Self::MachineCode,
            [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Compressed,
            _ if first == Some(&b'(') => Self::Text,
            _ => Self::Unknown,
        }
    }
}

/// What can be told of an artefact without running it. Of bytes that are no component, or not all
/// of one, it holds as much as could be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Facts {
    /// What kind of bytes they are.
    pub kind: Kind,
    /// How many bytes.
    pub size: usize,
    /// Their digest.
    pub digest: Digest,
    /// The names of what it imports.
    pub imports: Vec<String>,
    /// The names of what it exports.
    pub exports: Vec<String>,
    /// The file names of the scenarios that it carries.
    pub scenarios: Vec<String>,
    /// The memory that it wants before its first instruction, in bytes.
    pub memory: u64,
    /// Why there may be more than is told here: what could not be read.
    pub problem: Option<String>,
}

impl Facts {
    /// What can be told of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut facts = Self {
            kind: Kind::of(bytes),
            size: bytes.len(),
            digest: Digest::of(bytes),
            imports: Vec::new(),
            exports: Vec::new(),
            scenarios: Vec::new(),
            memory: 0,
            problem: None,
        };
        if !matches!(facts.kind, Kind::Component | Kind::CoreModule) {
            return facts;
        }
        let mut walk = Walk {
            facts: &mut facts,
            types_alone: true,
        };
        let walked = walk.component(Parser::new(0), bytes, 0);
        let types_alone = walk.types_alone;
        if let Err(error) = walked {
            facts.problem = Some(error.to_string());
        }
        if types_alone && facts.kind == Kind::Component && !facts.exports.is_empty() {
            facts.kind = Kind::WitPackage;
        }
        if facts.kind == Kind::Component && facts.problem.is_none() {
            match scenarios(bytes) {
                Ok(found) => facts.scenarios = found.into_iter().map(|(name, _)| name).collect(),
                Err(why) => facts.problem = Some(why),
            }
        }
        facts
    }
}

struct Walk<'f> {
    facts: &'f mut Facts,
    /// Whether all that was seen so far is types.
    types_alone: bool,
}

impl Walk<'_> {
    /// Looks through a module or component that these bytes begin with; `depth` is how many others
    /// it is in.
    fn component(
        &mut self,
        mut parser: Parser,
        bytes: &[u8],
        depth: usize,
    ) -> wasmparser::Result<()> {
        let mut rest = bytes;
        loop {
            let (consumed, payload) = match parser.parse(rest, true)? {
                Chunk::Parsed { consumed, payload } => (consumed, payload),
                // With all there is at hand, an end too early is an error instead.
                Chunk::NeedMoreData(_) => return Ok(()),
            };
            rest = rest.get(consumed..).unwrap_or_default();
            match payload {
                Payload::ModuleSection {
                    parser,
                    unchecked_range,
                }
                | Payload::ComponentSection {
                    parser,
                    unchecked_range,
                } => {
                    let inner = rest.get(..unchecked_range.len()).unwrap_or(rest);
                    if depth < DEEPEST {
                        self.component(parser, inner, depth + 1)?;
                    }
                    rest = rest.get(unchecked_range.len()..).unwrap_or_default();
                }
                Payload::CodeSectionStart { size, .. } => {
                    self.types_alone = false;
                    parser.skip_section();
                    rest = rest.get(size as usize..).unwrap_or_default();
                }
                Payload::End(_) => return Ok(()),
                other => self.section(&other, depth)?,
            }
        }
    }

    fn section(&mut self, payload: &Payload<'_>, depth: usize) -> wasmparser::Result<()> {
        match payload {
            Payload::Version { encoding, .. } if *encoding == Encoding::Module => {
                self.types_alone = false;
            }
            Payload::MemorySection(section) => {
                for memory in section.clone() {
                    let memory = memory?;
                    let page = 1u64 << memory.page_size_log2.unwrap_or(16).min(16);
                    let bytes = memory.initial.saturating_mul(page);
                    self.facts.memory = self.facts.memory.saturating_add(bytes);
                }
            }
            Payload::ImportSection(section) if depth == 0 => {
                for import in section.clone().into_imports() {
                    let import = import?;
                    let name = format!("{}.{}", import.module, import.name);
                    self.facts.imports.push(name);
                }
            }
            Payload::ExportSection(section) if depth == 0 => {
                for export in section.clone() {
                    self.facts.exports.push(export?.name.to_owned());
                }
            }
            Payload::ComponentImportSection(section) if depth == 0 => {
                self.types_alone = false;
                for import in section.clone() {
                    self.facts.imports.push(import?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section.clone() {
                    let export = export?;
                    self.types_alone &= export.kind == ComponentExternalKind::Type;
                    self.facts.exports.push(export.name.name.to_owned());
                }
            }
            _ => {}
        }
        Ok(())
    }
}
