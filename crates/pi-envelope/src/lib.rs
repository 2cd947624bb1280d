//! What the model is given: Prompt and Prompt Envelope 1.0.
