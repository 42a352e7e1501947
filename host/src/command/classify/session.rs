//! What is done with each input.

use std::process::ExitCode;

use fusewire::cases::{Input, Mistake, Reading};
use serde_json::{Value, json};

use super::agreement::Agreement;
use super::explain;
use super::judge::{Judge, Judged};
use super::source::{Line, Source};
use crate::command::output::{Lines, Paint};

/// What is written of each input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// For people: the verdict, and how it came about.
    Text,
    /// The verdict as JSON; with the rules that were tried, where that is asked for.
    Json { explain: bool },
    /// Whether it is as expected.
    Agreement { json: bool },
}

/// One run of the command.
pub(super) struct Session {
    reading: Reading,
    judge: Judge,
    form: Form,
    agreement: Agreement,
    out: Lines,
    paint: Paint,
    /// Whether anything could not be judged.
    failed: bool,
}

impl Session {
    pub(super) fn new(reading: Reading, judge: Judge, form: Form) -> Self {
        Self {
            reading,
            judge,
            form,
            agreement: Agreement::default(),
            out: Lines::new(),
            paint: Paint::of_stdout(),
            failed: false,
        }
    }

    /// Whether there is nobody left to write to.
    pub(super) fn is_over(&self) -> bool {
        self.out.is_gone()
    }

    /// Reads a file to its end.
    pub(super) fn read(&mut self, mut source: Source) -> anyhow::Result<()> {
        let name = source.name().to_owned();
        let read = self.read_all(&mut source, &name)?;
        match read {
            Ok(()) => Ok(()),
            Err(error) => self.wrong(&format!("{name}: {error}")),
        }
    }

    /// The outer error is of writing, the inner one of reading.
    fn read_all(
        &mut self,
        source: &mut Source,
        name: &str,
    ) -> anyhow::Result<Result<(), std::io::Error>> {
        match source.response() {
            Ok(None) => {}
            Ok(Some(bytes)) => {
                self.response(&bytes, name)?;
                return Ok(Ok(()));
            }
            Err(error) => return Ok(Err(error)),
        }
        let mut number = 0;
        while !self.is_over() {
            if source.pauses() {
                self.out.flush()?;
            }
            let line = match source.line() {
                Ok(None) => break,
                Ok(Some(line)) => line,
                Err(error) => return Ok(Err(error)),
            };
            number += 1;
            match line {
                Line::Text(text) => self.line(&text, number, name)?,
                Line::TooLong => self.wrong(&format!("{name}:{number}: longer than 4 MiB"))?,
                Line::NotText => self.wrong(&format!("{name}:{number}: this is not UTF-8"))?,
            }
        }
        Ok(Ok(()))
    }

    fn line(&mut self, text: &str, number: u64, name: &str) -> anyhow::Result<()> {
        // Some programs begin a file with the mark of a byte order.
        let text = match number {
            1 => text.trim_start_matches('\u{feff}'),
            _ => text,
        };
        if text.trim_ascii().is_empty() {
            return Ok(());
        }
        let at = format!("{name}:{number}");
        let Form::Agreement { json } = self.form else {
            return match self.reading.input(text, number) {
                Ok(input) => self.tell(&input, &at),
                Err(mistakes) => self.mistakes(name, &mistakes),
            };
        };
        let case = match self.reading.case(text, number) {
            Ok(case) => case,
            Err(mistakes) => return self.mistakes(name, &mistakes),
        };
        match self.judge.judge(&case.input, false) {
            Ok(Judged { verdict, .. }) => {
                let out = json.then_some(&mut self.out);
                self.agreement.compare(&case, &verdict, &at, out)
            }
            Err(why) => self.wrong(&format!("{at}: {why}")),
        }
    }

    fn response(&mut self, bytes: &[u8], name: &str) -> anyhow::Result<()> {
        if let Form::Agreement { .. } = self.form {
            let wrong = "nothing is expected of an answer as it was saved; write a case in JSON";
            return self.wrong(&format!("{name}: {wrong}"));
        }
        match self.reading.response(bytes) {
            Ok(input) => self.tell(&input, name),
            Err(error) => self.wrong(&format!("{name}:{error}")),
        }
    }

    /// Judges an input and writes what is to be said of it.
    fn tell(&mut self, input: &Input, at: &str) -> anyhow::Result<()> {
        let explain = self.form != Form::Json { explain: false };
        let judged = match self.judge.judge(input, explain) {
            Ok(judged) => judged,
            Err(why) => return self.wrong(&format!("{at}: {why}")),
        };
        let named = self.judge.named(&input.setup.whom);
        match self.form {
            Form::Text => {
                for line in explain::text(input, at, named, &judged, self.paint) {
                    self.out.line(&line)?;
                }
                Ok(self.out.line("")?)
            }
            _ => Ok(self
                .out
                .line(&as_json(input, at, named, &judged).to_string())?),
        }
    }

    fn mistakes(&mut self, name: &str, mistakes: &[Mistake]) -> anyhow::Result<()> {
        mistakes
            .iter()
            .try_for_each(|mistake| self.wrong(&format!("{name}:{mistake}")))
    }

    /// Tells what could not be judged, after all that was written before.
    pub(super) fn wrong(&mut self, line: &str) -> anyhow::Result<()> {
        self.out.flush()?;
        self.failed = true;
        eprintln!("{line}");
        Ok(())
    }

    /// Writes what is to be said at the end.
    pub(super) fn finish(mut self) -> anyhow::Result<ExitCode> {
        if let Form::Agreement { json } = self.form {
            if self.agreement.is_empty() && !self.failed {
                self.wrong("fusewire: there is no case in what was read")?;
            }
            if !json && !self.agreement.is_empty() {
                self.agreement.report(&mut self.out, self.paint)?;
            }
        }
        self.out.flush()?;
        Ok(match self.failed || self.agreement.differs() {
            true => ExitCode::FAILURE,
            false => ExitCode::SUCCESS,
        })
    }
}

fn as_json(input: &Input, at: &str, (key, name): (&str, &str), judged: &Judged) -> Value {
    let mut value = json!({"at": at, "verdict": judged.verdict});
    let Some(object) = value.as_object_mut() else {
        return value;
    };
    if let Some(id) = &input.id {
        object.insert("id".into(), id.as_str().into());
    }
    object.insert(key.into(), name.into());
    if let Some(explanation) = &judged.explanation {
        let tried = explanation.tried.iter();
        let tried = tried
            .map(|tried| json!({"rule": tried.rule, "decided": tried.decided, "why": tried.why}));
        object.insert("tried".into(), tried.collect());
        let hint = explanation.hint.as_ref().map(
            |hint| json!({"source": hint.source, "wait-ms": hint.wait_ms, "clamped": hint.clamped}),
        );
        object.insert("hint".into(), hint.into());
    }
    value
}
