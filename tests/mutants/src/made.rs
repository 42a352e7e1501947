//! The changes that cargo-mutants would make, from its list.
//!
//! cargo-mutants itself has cargo build and test the whole package anew for each of them, which
//! takes ten times as long as a [workshop](crate::workshop) and a driver do. So it only lists them
//! here: `cargo mutants --list --json`.

use serde_json::Value;

use crate::Result;

/// One change of one place in the core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// The place and the change, as cargo-mutants tells them.
    pub name: String,
    /// The file, from the workspace's folder on.
    pub file: String,
    from: Place,
    to: Place,
    replacement: String,
}

/// A place in a text, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    line: u64,
    /// In characters.
    column: u64,
}

/// The changes of a list.
///
/// # Errors
/// It is none.
pub fn list(json: &str) -> Result<Vec<Made>> {
    let list: Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let list = list.as_array().ok_or("it is no list")?;
    list.iter().map(made).collect()
}

fn made(one: &Value) -> Result<Made> {
    let text = |pointer: &str| {
        let text = one.pointer(pointer).and_then(Value::as_str);
        text.map(str::to_owned)
            .ok_or_else(|| format!("there is no text at {pointer} of {one}"))
    };
    let place = |end: &str| {
        let number = |of: &str| {
            let pointer = format!("/span/{end}/{of}");
            let number = one.pointer(&pointer).and_then(Value::as_u64);
            number.ok_or_else(|| format!("there is no number at {pointer} of {one}"))
        };
        Ok::<Place, String>(Place {
            line: number("line")?,
            column: number("column")?,
        })
    };
    Ok(Made {
        name: text("/name")?,
        file: text("/file")?,
        from: place("start")?,
        to: place("end")?,
        replacement: text("/replacement")?,
    })
}

impl Made {
    /// A text with the change in it.
    ///
    /// # Errors
    /// The text has no such place: it is not the one that was listed.
    pub fn apply(&self, text: &str) -> Result<String> {
        let ends = (self.from.offset(text), self.to.offset(text));
        match ends {
            (Some(from), Some(to)) if from <= to => {
                let (before, after) = (&text[..from], &text[to..]);
                Ok([before, &self.replacement, after].concat())
            }
            _ => Err(format!("{} has no such place", self.file)),
        }
    }
}

impl Place {
    fn offset(self, text: &str) -> Option<usize> {
        let before = usize::try_from(self.line.checked_sub(1)?).ok()?;
        let column = usize::try_from(self.column.checked_sub(1)?).ok()?;
        let mut start = 0;
        for line in text.split_inclusive('\n').take(before) {
            start += line.len();
        }
        let line = text.get(start..)?.lines().next()?;
        let mut places = line.char_indices().map(|(at, _)| at);
        let at = places
            .nth(column)
            .or((line.chars().count() == column).then_some(line.len()))?;
        Some(start + at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changing(from: (u64, u64), to: (u64, u64), replacement: &str) -> Made {
        let json = format!(
            r#"[{{"name": "n", "file": "f", "replacement": {replacement:?}, "span": {{
                "start": {{"line": {}, "column": {}}}, "end": {{"line": {}, "column": {}}}}}}}]"#,
            from.0, from.1, to.0, to.1
        );
        list(&json).unwrap().remove(0)
    }

    #[test]
    fn a_change_is_made_at_its_place_counted_in_characters() {
        let text = "ä < b\n  c\nd";
        assert_eq!(
            changing((1, 3), (1, 4), "<=").apply(text).unwrap(),
            "ä <= b\n  c\nd"
        );
        assert_eq!(
            changing((2, 3), (3, 2), "").apply(text).unwrap(),
            "ä < b\n  "
        );
        assert!(changing((4, 1), (4, 1), "").apply(text).is_err());
        assert!(changing((1, 9), (2, 1), "").apply(text).is_err());
    }
}
