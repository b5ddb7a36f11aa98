"""A small application that somebody else might have written: orders come in, bills go out."""
