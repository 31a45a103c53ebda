//! The calling role: pick an instance, call it, stream the answer.
