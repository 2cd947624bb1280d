//! Files that other programs run by themselves when somebody merely works in a folder.

/// The names of such files and folders, wherever in a project they lie: `git status` starts what `.git/config` names, a
/// commit what lies in `.husky`, a shell that enters a folder what `.envrc` says. Whoever writes one of them runs programs.
///
/// Names and not paths, so that a folder which was filled under another name is caught when it is moved into its place. What
/// runs when somebody asks for it (`package.json`, a `Makefile`, the code of the project) is not among them: that is what
/// the project is there for.
pub const HOOKS: [&str; 22] = [
    // git: hooks, and programs that its configuration names. Of worktrees and submodules as well, where it is a file.
    ".git",
    // Where `core.hooksPath` usually leads, and the lists of those who bring hooks along.
    ".githooks",
    ".husky",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".lefthook.yml",
    "lefthook.yaml",
    "lefthook.toml",
    "lefthook.json",
    "lefthook-local.yml",
    "lefthook-local.yaml",
    // Shells, on entering a folder.
    ".envrc",
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    ".mise.local.toml",
    ".mise",
    // Editors, on opening a folder: tasks, and settings that name programs.
    ".vscode",
    ".idea",
    // Agents: hooks, and servers that are started with a session. pi itself reads the last.
    ".claude",
    ".cursor",
    ".mcp.json",
];
