/** Dark or light: the system's choice unless the reader made one. */
export type Theme = "system" | "light" | "dark";

const STORED = "pi.theme";

class Appearance {
  theme = $state.raw<Theme>("system");

  load(): void {
    try {
      const stored = localStorage.getItem(STORED);
      this.apply(stored === "light" || stored === "dark" ? stored : "system");
    } catch {
      // Storage is off: the system's choice will do.
    }
  }

  choose(theme: Theme): void {
    this.apply(theme);
    localStorage.setItem(STORED, theme);
  }

  private apply(theme: Theme): void {
    this.theme = theme;
    if (theme === "system") {
      delete document.documentElement.dataset["theme"];
    } else {
      document.documentElement.dataset["theme"] = theme;
    }
  }
}

export const appearance = new Appearance();
