//! Files, as lines of JSON or answers of HTTP.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use fusewire::cases::is_response;

/// The longest line, in bytes, and the most that is read of an answer: several times a body of
/// 64 KiB with every byte escaped.
const LONGEST: u64 = 4 << 20;

/// A file that is read from its beginning to its end.
pub(super) struct Source {
    name: String,
    reader: BufReader<Box<dyn Read>>,
}

/// A line of a file.
pub(super) enum Line {
    Text(String),
    /// Longer than what is read.
    TooLong,
    /// Not UTF-8.
    NotText,
}

impl Source {
    /// Opens a file; `-` is the standard input.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let (name, reader): (_, Box<dyn Read>) = match path.to_str() {
            Some("-") => ("stdin".to_owned(), Box::new(io::stdin())),
            _ => (path.display().to_string(), Box::new(File::open(path)?)),
        };
        Ok(Self {
            name,
            reader: BufReader::with_capacity(64 << 10, reader),
        })
    }

    /// What the file is called in messages.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The whole of it, where it is an answer of HTTP.
    pub(super) fn response(&mut self) -> io::Result<Option<Vec<u8>>> {
        if !is_response(self.reader.fill_buf()?) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        self.reader.by_ref().take(LONGEST).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Whether the next line has still to come, so that this is a pause.
    pub(super) fn pauses(&self) -> bool {
        self.reader.buffer().is_empty()
    }

    /// The next line, without its end.
    pub(super) fn line(&mut self) -> io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        let read = self
            .reader
            .by_ref()
            .take(LONGEST)
            .read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(None);
        }
        if bytes.last() != Some(&b'\n') && read as u64 == LONGEST {
            self.skip_line()?;
            return Ok(Some(Line::TooLong));
        }
        Ok(Some(match String::from_utf8(bytes) {
            Ok(text) => Line::Text(text),
            Err(_) => Line::NotText,
        }))
    }

    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.reader.fill_buf()?;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let (used, over) = match end {
                Some(at) => (at + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.reader.consume(used);
            if over {
                return Ok(());
            }
        }
    }
}
