//! Settings as they lie within one another.

use fusewire_core::config::reference::{Form, Setting};

/// A setting and what is within it.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) path: String,
    pub(super) form: Form,
    pub(super) default: Option<serde_json::Value>,
    /// By their keys; that of any name or number is `*`.
    pub(super) children: Vec<(String, Node)>,
}

impl Node {
    /// The whole file.
    pub(super) fn of(settings: &[Setting]) -> Self {
        let mut root = Self::table(String::new());
        for setting in settings {
            root.put(setting);
        }
        root
    }

    fn table(path: String) -> Self {
        Self {
            path,
            form: Form::Table,
            default: None,
            children: Vec::new(),
        }
    }

    fn put(&mut self, setting: &Setting) {
        let mut node = self;
        for key in setting.path.split('/').skip(1) {
            let at = node.children.iter().position(|(known, _)| known == key);
            let at = at.unwrap_or_else(|| {
                let path = format!("{}/{key}", node.path);
                node.children.push((key.to_owned(), Self::table(path)));
                node.children.len() - 1
            });
            node = &mut node.children[at].1;
        }
        node.form = setting.form.clone();
        node.default.clone_from(&setting.default);
    }

    /// What is at this path below.
    pub(super) fn at(&self, path: &str) -> Option<&Self> {
        path.split('/').skip(1).try_fold(self, |node, key| {
            let child = node.children.iter().find(|(known, _)| known == key);
            child.map(|(_, child)| child)
        })
    }
}
