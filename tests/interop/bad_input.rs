//! Broken inputs: Firn says which file, exits with the right code and leaves everything as it was.
