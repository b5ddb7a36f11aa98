"""The scenario's steps, by what they are about, in the order in which they run."""
