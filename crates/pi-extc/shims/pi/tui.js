// @mariozechner/pi-tui and @earendil-works/pi-tui: components that give lines of text and take keys. Not here: terminals of
// one's own (ProcessTerminal, StdinBuffer) and pictures in terminal protocols.
export {
  EditorKeybindingsManager, getEditorKeybindings, getKeybindings, KeybindingsManager, setEditorKeybindings, setKeybindings, TUI_KEYBINDINGS,
} from "pi:shim/pi/tui/bindings";
export { CombinedAutocompleteProvider } from "pi:shim/pi/tui/completion";
export { Editor, wordWrapLine } from "pi:shim/pi/tui/editor";
export { fuzzyFilter, fuzzyMatch } from "pi:shim/pi/tui/fuzzy";
export { Input } from "pi:shim/pi/tui/input";
export { decodeKittyPrintable, isKeyRelease, isKeyRepeat, isKittyProtocolActive, Key, matchesKey, parseKey, setKittyProtocolActive } from "pi:shim/pi/tui/keys";
export { SelectList, SettingsList } from "pi:shim/pi/tui/lists";
export { Markdown } from "pi:shim/pi/tui/markdown";
export { CURSOR_MARKER, isFocusable } from "pi:shim/pi/tui/marker";
export { Box, CancellableLoader, Container, Image, imageFallback, Loader, Spacer, Text, TruncatedText } from "pi:shim/pi/tui/parts";
export { detectCapabilities, getCapabilities, getCellDimensions, getGifDimensions, getImageDimensions, getJpegDimensions, getPngDimensions, getWebpDimensions, calculateImageRows, hyperlink, resetCapabilitiesCache, setCapabilities, setCellDimensions } from "pi:shim/pi/tui/pictures";
export { TUI } from "pi:shim/pi/tui/screen";
export { applyBackgroundToLine, sliceByColumn, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "pi:shim/pi/tui/width";
