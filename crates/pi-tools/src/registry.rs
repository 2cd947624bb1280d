//! The tools of a session, by name and in order.

use std::sync::Arc;

use crate::{bash::Bash, edit::Edit, find::Find, grep::Grep, ls::Ls, read::Read, tool::Tool, write::Write};

/// The built-in tools that a session has unless it is told otherwise.
pub const DEFAULT_ACTIVE: [&str; 4] = ["read", "bash", "edit", "write"];

/// Tools by name, in the order in which the model sees them.
#[derive(Clone, Default)]
pub struct Registry {
    /// Shared by everybody who has the same ones.
    tools: Arc<Vec<Arc<dyn Tool>>>,
}

impl Registry {
    /// All built-in tools: those that are active by default first, then the searching ones.
    pub fn built_in() -> Self {
        let tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(Read),
            Arc::new(Bash),
            Arc::new(Edit),
            Arc::new(Write),
            Arc::new(Grep),
            Arc::new(Find),
            Arc::new(Ls),
        ];
        Self { tools: Arc::new(tools) }
    }

    /// Adds a tool at the end. One of the same name gives up its place to the new one and is handed back.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Option<Arc<dyn Tool>> {
        let name = &tool.definition().name;
        let tools = Arc::make_mut(&mut self.tools);
        match tools.iter_mut().find(|own| own.definition().name == *name) {
            Some(own) => Some(std::mem::replace(own, tool)),
            None => {
                tools.push(tool);
                None
            }
        }
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.definition().name == name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.definition().name.as_str())
    }

    /// The tools of these names in the order of this registry, and the names that it does not know.
    pub fn select<'a>(&self, names: &[&'a str]) -> (Self, Vec<&'a str>) {
        let wanted = |tool: &&Arc<dyn Tool>| names.contains(&tool.definition().name.as_str());
        let tools = self.tools.iter().filter(wanted).cloned().collect();
        (Self { tools: Arc::new(tools) }, names.iter().copied().filter(|name| self.get(name).is_none()).collect())
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_keep_their_order_whatever_the_order_of_names() {
        let all = Registry::built_in();
        assert_eq!(all.names().collect::<Vec<_>>(), ["read", "bash", "edit", "write", "grep", "find", "ls"]);
        let (some, unknown) = all.select(&["ls", "teleport", "read"]);
        assert_eq!((some.names().collect::<Vec<_>>(), unknown), (vec!["read", "ls"], vec!["teleport"]));
        let (active, unknown) = all.select(&DEFAULT_ACTIVE);
        assert_eq!((active.names().collect::<Vec<_>>(), unknown), (DEFAULT_ACTIVE.to_vec(), vec![]));
    }

    #[test]
    fn tool_of_the_same_name_takes_the_place() {
        let mut tools = Registry::built_in();
        let replaced = tools.add(Arc::new(Read)).map(|tool| tool.definition().name.clone());
        assert_eq!((replaced.as_deref(), tools.names().next(), tools.iter().count()), (Some("read"), Some("read"), 7));
    }
}
