"""`kcli demo`: a real data set through a broker of its own, and the tools that show the result."""
