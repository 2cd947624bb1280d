// What the built-in tools say of themselves: the words of crates/pi-tools/definitions in the schemas that Pi gives to
// extensions, which are a little wider (a test compares both).
import { Type } from "pi:shim/typebox/type";

const text = (description) => Type.String({ description });
const count = (description) => Type.Number({ description });
const { Optional } = Type;
const FILE = "The file, relative to the project or absolute";
/** The newer of the two packages says nothing of other members. */
const edits = (others) => Type.Object({
  path: text(FILE),
  edits: Type.Array(Type.Object({ oldText: text("Text that occurs exactly once in the file"), newText: text("What takes its place") }, others), { description: "The replacements" }),
}, others);

export const DEFINITIONS = {
  bash: {
    name: "bash", label: "bash",
    description: "Run a command in bash, in the folder of the project. Returns what it prints, both streams together: the last 2000 lines or 50KB, whichever comes first; if that is not all, the whole output is in a file whose path is given. There is no input to read from. Without `timeout` (seconds) it may take as long as it likes.",
    promptSnippet: "Run commands (git, builds, tests, moving files)",
    parameters: Type.Object({ command: text("The command, for bash -c"), timeout: Optional(count("Seconds after which the command is killed")) }),
  },
  read: {
    name: "read", label: "read",
    description: "Read a file. Text is returned from line `offset` on, at most 2000 lines or 50KB at a time, whichever comes first; continue with `offset` until you have what you need. Images (jpg, png, gif, webp) are returned as attachments.",
    promptSnippet: "Read text files and images",
    promptGuidelines: ["Look at files with read, not with cat or sed."],
    parameters: Type.Object({ path: text(FILE), offset: Optional(count("The line to start with; the first line is 1")), limit: Optional(count("How many lines to read")) }),
  },
  write: {
    name: "write", label: "write",
    description: "Write a file: it is made, with the folders around it, or replaced as a whole.",
    promptSnippet: "Make files or replace them as a whole",
    promptGuidelines: ["Use write for new files and complete rewrites only; change parts of a file with edit."],
    parameters: Type.Object({ path: text(FILE), content: text("All that the file shall hold") }),
  },
  edit: {
    name: "edit", label: "edit",
    description: "Replace text in a file. Each `oldText` must occur exactly once in the file as it is now, and the places must not overlap: all replacements are looked up in the original file, not one after the other. Give changes that lie close together as one replacement.",
    promptSnippet: "Replace exact text in a file, several places in one call",
    promptGuidelines: ["Change existing files with edit. `oldText` is copied exactly from the file, as short as it can be and still unique.", "Put several changes of one file into one call of edit."],
    parameters: edits({ additionalProperties: false }),
  },
  grep: {
    name: "grep", label: "grep",
    description: "Search the text of files. Returns matching lines with path and line number, at most 100 matches or 50KB, long lines cut at 500 characters. Leaves out what .gitignore names, and binary files.",
    promptSnippet: "Search the text of files (leaves out what .gitignore names)",
    promptGuidelines: ["Search with grep and find, where they are there, not with bash: they are faster and leave out ignored files."],
    parameters: Type.Object({
      pattern: text("What to look for: a regular expression, or plain text with `literal`"), path: Optional(text("The folder or file to search; the project unless given")),
      glob: Optional(text("Only files like this, for example '*.ts' or 'src/**/*.rs'")), ignoreCase: Optional(Type.Boolean({ description: "Whether small and capital letters are the same" })),
      literal: Optional(Type.Boolean({ description: "Whether the pattern is plain text" })), context: Optional(count("How many lines to show around each match")), limit: Optional(count("How many matches at most; 100 unless given")),
    }),
  },
  find: {
    name: "find", label: "find",
    description: "Find files by name. Returns paths relative to the folder that was searched, at most 1000 or 50KB. Leaves out what .gitignore names. The pattern is a glob: without a slash it is compared with names ('*.ts'), with one with whole paths ('src/**/*.spec.ts'). It ignores case unless it holds a capital letter.",
    promptSnippet: "Find files by name (leaves out what .gitignore names)",
    parameters: Type.Object({ pattern: text("A glob, for example '*.ts' or '**/*.json'"), path: Optional(text("The folder to search; the project unless given")), limit: Optional(count("How many results at most; 1000 unless given")) }),
  },
  ls: {
    name: "ls", label: "ls",
    description: "List a folder, sorted, with '/' behind folders and including hidden files; at most 500 entries or 50KB.",
    promptSnippet: "List folders",
    parameters: Type.Object({ path: Optional(text("The folder; the project unless given")), limit: Optional(count("How many entries at most; 500 unless given")) }),
  },
};

/** The same in the package of the newer scope. */
export const NEWER = { ...DEFINITIONS, edit: { ...DEFINITIONS.edit, parameters: edits({}) } };
