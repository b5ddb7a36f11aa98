"""`kcli top`: a broker's metrics as rates over an interval, live in the terminal or as JSON lines."""
