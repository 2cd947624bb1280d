/** How the conversation is looked at: whether thinking and outputs are open. Chosen for all at once, and by each card for itself. */
class View {
  showThinking = $state(false);
  showOutputs = $state(false);
}

export const view = new View();
