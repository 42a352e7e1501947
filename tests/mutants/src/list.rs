//! The mutants, read from their files.

use std::path::Path;

use toml_edit::{Document, Item};

use crate::{Result, text};

/// One mistake, and who notices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// The name of its file.
    pub name: String,
    /// The number of a trap in the design's section 9, or the name of a rule.
    pub trap: String,
    /// What published breakers get wrong, in a sentence.
    pub about: String,
    /// The file that the mistake is in, from `policy/core/src` on.
    pub file: String,
    /// What stands there, once.
    pub find: String,
    /// What stands there instead.
    pub replace: String,
    /// The scenarios that must fail.
    pub caught_by: Vec<String>,
}

impl Mutant {
    /// The file that the mistake is in, from the workspace's folder on.
    #[must_use]
    pub fn path(&self) -> String {
        format!("policy/core/src/{}", self.file)
    }

    /// That file with the mistake in it.
    ///
    /// # Errors
    /// What the mistake replaces does not stand there exactly once.
    pub fn apply(&self, text: &str) -> Result<String> {
        match text.matches(&self.find).count() {
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            times => Err(format!(
                "what it replaces stands {times} times in {}, not once:\n{}",
                self.path(),
                self.find
            )),
        }
    }
}

/// Every mutant of a folder, in order of their names.
///
/// # Errors
/// One cannot be read: the text names it.
pub fn mutants(folder: &Path) -> Result<Vec<Mutant>> {
    let unreadable = |error| format!("{}: {error}", folder.display());
    let mut found = Vec::new();
    for entry in folder.read_dir().map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let mutant = read(&name, &text(&path)?);
            found.push(mutant.map_err(|why| format!("{}: {why}", path.display()))?);
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn read(name: &str, text: &str) -> Result<Mutant> {
    const KEYS: [&str; 6] = ["trap", "about", "file", "find", "replace", "caught-by"];
    let document = Document::parse(text).map_err(|error| error.to_string())?;
    if let Some((other, _)) = document.iter().find(|(key, _)| !KEYS.contains(key)) {
        return Err(format!("`{other}` is not one of {KEYS:?}"));
    }
    let string = |key: &str| {
        let text = document.get(key).and_then(Item::as_str);
        text.map(str::to_owned)
            .ok_or_else(|| format!("`{key}` is missing, or no string"))
    };
    let trap = match document.get("trap").and_then(Item::as_integer) {
        Some(number) => number.to_string(),
        None => string("trap")?,
    };
    let caught_by = document.get("caught-by").and_then(Item::as_array);
    let caught_by: Option<Vec<String>> = caught_by
        .into_iter()
        .flatten()
        .map(|name| name.as_str().map(str::to_owned))
        .collect();
    Ok(Mutant {
        name: name.to_owned(),
        trap,
        about: string("about")?,
        file: string("file")?,
        find: string("find")?,
        replace: string("replace")?,
        caught_by: caught_by
            .filter(|names| !names.is_empty())
            .ok_or("`caught-by` has to be a list with the name of a scenario in it")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_mutants_file_is_told() {
        let whole =
            "trap = 2\nabout = 'a'\nfile = 'f'\nfind = 'x'\nreplace = 'y'\ncaught-by = ['s']";
        assert_eq!(read("m", whole).unwrap().trap, "2");
        let cases = [
            (
                whole.replace("trap = 2", ""),
                "`trap` is missing, or no string",
            ),
            (
                whole.replace("['s']", "[]"),
                "`caught-by` has to be a list with the name of a scenario in it",
            ),
            (whole.replace("find", "fnd"), "`fnd` is not one of "),
        ];
        for (text, why) in cases {
            let told = read("m", &text).unwrap_err();
            assert!(told.starts_with(why), "{told}");
        }
    }
}
