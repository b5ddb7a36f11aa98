"""What `kcli demo` shows: a real data set through a broker of its own, and the tools that look at what is left."""
